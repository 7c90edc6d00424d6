"""HTTP API and durable cases. Needs the extra `service`; nothing here is imported before `banditree serve`."""
