"""Exposition for Prometheus: the maps of a run as metrics that a server scrapes over HTTP.

``settings`` reads the address and who may read, ``families`` makes metrics of maps, ``writer`` is the output format
that keeps the maps of one target, ``exposition`` reads the maps for a scrape, ``server`` answers HTTP requests, and
``tls`` makes its TLS context.

Needs the package ``prometheus-client`` (``btpy[prometheus]``).
"""
