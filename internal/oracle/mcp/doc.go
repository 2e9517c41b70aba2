// Package mcp lets the oracle use tools of MCP servers: programs and addresses that
// the operator names in a file, and addresses that a workspace names over the API.
//
// It promises that a foreign server is a guest. Its tools are called for callers who
// have the right to use them, and only after somebody has read exactly that
// description and schema and granted them, unless the operator says that a tool only
// reads. Nothing a server says about itself counts, and none of its words reach a
// model before that. A program starts with an environment of its own, an address of a
// workspace is never in our own network, and neither can keep the oracle waiting or
// fill its memory. A call is sent once and never repeated.
//
// In the other direction, Endpoint is Hearth as an MCP server, over streamable HTTP:
// assistants in editors and on desktops look up twins and surveys with it, as the
// caller whose key or token they send. It keeps nothing between requests, so any
// instance answers any of them, and gives a caller no more than the same tools give in
// a conversation.
package mcp
