"""Exposition for Prometheus: the maps of a run as metrics that a server scrapes over HTTP.

``settings`` reads the address and the token, ``families`` makes metrics of maps, ``writer`` is the output format that
keeps the maps of one target, ``exposition`` reads the maps for a scrape, and ``server`` answers HTTP requests.

Needs the package ``prometheus-client`` (``btpy[prometheus]``).
"""
