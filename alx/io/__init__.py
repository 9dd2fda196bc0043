"""Files: policies, provenance, exports, caches."""
