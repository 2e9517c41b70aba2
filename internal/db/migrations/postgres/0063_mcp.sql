-- MCP servers that workspaces have named, and the tools that somebody lets the oracle
-- use: a grant is for one description and schema, which the hash stands for.
CREATE TABLE mcp_servers (
  ws TEXT NOT NULL,
  name TEXT NOT NULL,
  url TEXT NOT NULL,
  description TEXT NOT NULL,
  headers BYTEA,
  timeout_ms BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (ws, name)
);
CREATE TABLE mcp_grants (
  ws TEXT NOT NULL,
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  hash TEXT NOT NULL,
  granted_by TEXT NOT NULL,
  granted_at BIGINT NOT NULL,
  PRIMARY KEY (ws, server, tool)
);
