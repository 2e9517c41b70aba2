package api

import "time"

// MCPServer is an MCP server whose tools the oracle can use. Its credentials are never
// shown, and the address of an operator's server is not shown either.
type MCPServer struct {
	Name           string    `json:"name" doc:"Begins the names of its tools, before two underscores." example:"weather"`
	Origin         string    `json:"origin" doc:"operator: from the settings of this server; workspace: made over the API." enum:"operator,workspace" example:"workspace"`
	Transport      string    `json:"transport" doc:"http, or stdio for a program that this server runs." enum:"http,stdio" example:"http"`
	URL            string    `json:"url,omitzero" example:"https://weather.example.org/mcp"`
	Description    string    `json:"description,omitzero" example:"Forecasts for the field teams"`
	HeaderNames    []string  `json:"headerNames,omitempty" doc:"Headers that are sent with every request. Their values are never shown."`
	TimeoutSeconds int       `json:"timeoutSeconds" doc:"How long a call may take." example:"30"`
	Protected      bool      `json:"protected" doc:"Each call needs an invocation by the caller, in mcpInvocations of the message."`
	Revision       int64     `json:"revision,omitzero" doc:"Raised by each change of a server of the workspace." example:"1"`
	CreatedAt      time.Time `json:"createdAt,omitzero"`
	UpdatedAt      time.Time `json:"updatedAt,omitzero"`
}

// MCPServerDraft is a workspace's description of an MCP server of its own.
type MCPServerDraft struct {
	URL            string            `json:"url" doc:"Where it speaks MCP over streamable HTTP. An address in a private network needs HEARTH_OUTBOUND_ALLOW of the operator." example:"https://weather.example.org/mcp"`
	Description    string            `json:"description,omitzero" doc:"For people; no model sees it." example:"Forecasts for the field teams"`
	Headers        map[string]string `json:"headers,omitempty" doc:"Sent with every request, such as Authorization. They are stored sealed and never shown again; a change without them removes them."`
	TimeoutSeconds int               `json:"timeoutSeconds,omitzero" doc:"How long a call may take, from 1 to 120; 30 by default." example:"30"`
}

// MCPTool is a tool that an MCP server offers, and how this server treats it.
type MCPTool struct {
	Name        string    `json:"name" doc:"What a model calls it, and the key of its invocation in mcpInvocations." example:"weather__forecast"`
	Original    string    `json:"original" doc:"What the server calls it." example:"forecast"`
	Description string    `json:"description" doc:"As the server gives it. Read it before you grant the tool: models read it too."`
	Schema      any       `json:"schema" doc:"JSON Schema of its arguments."`
	Hash        string    `json:"hash" doc:"Of the server, the name, the description and the schema. A grant is for this one." example:"4f1c0e9d2b7a86f35e0d1c2b3a495867"`
	State       string    `json:"state" doc:"usable; needs_grant: somebody must grant it; changed: it is not what was granted; protected: each call needs an invocation; taken: another tool has this name; refused: see problem." enum:"usable,needs_grant,changed,protected,taken,refused" example:"needs_grant"`
	ReadOnly    bool      `json:"readOnly" doc:"The operator says that it changes nothing. What the server itself says does not count."`
	Problem     string    `json:"problem,omitzero" doc:"Why it is not offered to models."`
	Resource    string    `json:"resource" doc:"What an invocation of it names: the capability is mcp/call on this." example:"ixo:oracle:did:ixo:entity:0123:mcp/weather/forecast"`
	Grant       *MCPGrant `json:"grant,omitzero" doc:"The grant there is, if any; it counts when its hash is that of the tool."`
}

// MCPGrant records that the oracle may use a tool for everybody in the workspace who
// may use tools.
type MCPGrant struct {
	Hash string    `json:"hash" example:"4f1c0e9d2b7a86f35e0d1c2b3a495867"`
	By   string    `json:"by" doc:"DID of who granted it."`
	At   time.Time `json:"at"`
}

// MCPGrantDraft grants a tool exactly as it was read.
type MCPGrantDraft struct {
	Hash string `json:"hash" doc:"hash of the tool as you have read it." example:"4f1c0e9d2b7a86f35e0d1c2b3a495867"`
}
