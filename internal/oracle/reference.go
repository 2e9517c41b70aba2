package oracle

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
)

// The types below are for the reference only: bodies are parsed by hand,
// because the messages about mistakes in them are part of the interface.

// messageBody is what POST /messages/{sessionId} takes.
type messageBody struct {
	Message        string            `json:"message" doc:"What the user says."`
	Stream         bool              `json:"stream,omitempty" doc:"Answer with a stream of frames."`
	AllMessages    bool              `json:"returnAllMessages,omitempty" doc:"Without stream: return the whole transcript too."`
	Model          string            `json:"model,omitempty" doc:"Id of a model from GET /models. For an unknown id the default model answers."`
	Tools          []toolBody        `json:"tools,omitempty" doc:"Tools of the page."`
	Actions        []actionBody      `json:"agActions,omitempty" doc:"Actions of the page's interface."`
	Attachments    []attachmentBody  `json:"attachments,omitempty" maxItems:"10"`
	MCPInvocations map[string]string `json:"mcpInvocations,omitempty" doc:"For each tool, the base64 CAR of an invocation, which can be used once."`
	Timezone       string            `json:"timezone,omitempty" example:"Africa/Nairobi"`
	HomeServer     string            `json:"homeServer,omitempty" doc:"The user's Matrix homeserver, by its address or host."`
	Metadata       map[string]any    `json:"metadata,omitempty"`
}

type toolBody struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"schema" doc:"JSON Schema of its arguments."`
}

type actionBody struct {
	toolBody
	HasRender bool `json:"hasRender,omitempty" doc:"The page shows a component for it."`
}

type attachmentBody struct {
	MXCURI   string  `json:"mxcUri,omitempty" doc:"Where it is: an http(s) address, or an mxc:// address at the homeserver that x-matrix-homeserver names. The model gets the content of readable files and the names of the others. Give this or eventId." example:"https://example.org/notes.txt"`
	EventID  string  `json:"eventId,omitempty" doc:"Matrix event that holds it, instead of mxcUri; its room is metadata.roomId."`
	Filename string  `json:"filename" maxLength:"255" example:"notes.txt"`
	MIMEType string  `json:"mimetype" example:"text/plain"`
	Size     float64 `json:"size,omitempty"`
}

// abortBody is what POST /messages/abort takes.
type abortBody struct {
	SessionID string `json:"sessionId"`
}

// delegationBody is what POST /delegation takes.
type delegationBody struct {
	Raw        string `json:"raw" doc:"Base64 CAR of a delegation to this oracle; hearth ucan delegate makes one."`
	Issuer     string `json:"issuer,omitempty" doc:"Must be the token's, if given."`
	Audience   string `json:"audience,omitempty" doc:"Must be this oracle, if given."`
	Expiration int64  `json:"expiration,omitempty" doc:"Ignored: the token's own expiration counts."`
}

// modelList is the answer of GET /models.
type modelList struct {
	Models  []llm.Entry `json:"models"`
	Default string      `json:"default"`
}

// messagesAnswer is the answer of GET /messages/{sessionId}.
type messagesAnswer struct {
	Messages []chat.Message `json:"messages"`
}

// pageAnswer is the answer of GET /sessions/{sessionId}/messages.
type pageAnswer struct {
	Messages   []chat.Message `json:"messages"`
	PrevCursor any            `json:"prevCursor" doc:"The value for before=, or null."`
	NextCursor any            `json:"nextCursor" doc:"The value for after=, or null."`
	HasOlder   bool           `json:"hasOlder"`
	HasNewer   bool           `json:"hasNewer"`
}

// runAnswer is the answer of GET /sessions/{sessionId}/run.
type runAnswer struct {
	Run any `json:"run" doc:"runId and status of the run, or null."`
}
