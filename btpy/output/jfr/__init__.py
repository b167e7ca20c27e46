"""``-f jfr``: a recording of JDK Flight Recorder, which JDK Mission Control and the tool ``jfr`` open.

``encoding`` writes numbers and texts. ``types`` has the types of events and fields, and ``metadata`` describes them in
the file. ``pools`` are the constants to which events refer. ``chunk`` is a part of a file. ``sources`` makes rows of
records and maps, ``rows`` encodes them, and ``writer`` is the output format.

The file format is version 2.1. It is described only by the code that reads it: ``jdk.jfr.internal.consumer`` in the
JDK, and ``org.openjdk.jmc.flightrecorder.internal.parser`` in Mission Control.
"""
