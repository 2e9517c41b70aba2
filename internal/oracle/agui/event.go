package agui

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// protocolVersion is what we speak.
const protocolVersion = "1.0"

// Types of events.
const (
	runStarted       = "RUN_STARTED"
	runFinished      = "RUN_FINISHED"
	runError         = "RUN_ERROR"
	stepStarted      = "STEP_STARTED"
	stepFinished     = "STEP_FINISHED"
	textStart        = "TEXT_MESSAGE_START"
	textContent      = "TEXT_MESSAGE_CONTENT"
	textEnd          = "TEXT_MESSAGE_END"
	reasoningStart   = "REASONING_START"
	reasoningEnd     = "REASONING_END"
	thoughtStart     = "REASONING_MESSAGE_START"
	thoughtContent   = "REASONING_MESSAGE_CONTENT"
	thoughtEnd       = "REASONING_MESSAGE_END"
	callStart        = "TOOL_CALL_START"
	callArgs         = "TOOL_CALL_ARGS"
	callEnd          = "TOOL_CALL_END"
	callResult       = "TOOL_CALL_RESULT"
	messagesSnapshot = "MESSAGES_SNAPSHOT"
	custom           = "CUSTOM"
)

// event is an event of any type, with the members that its type has.
type event struct {
	Type            string         `json:"type"`
	ThreadID        string         `json:"threadId,omitzero"`
	RunID           string         `json:"runId,omitzero"`
	ProtocolVersion string         `json:"protocolVersion,omitzero"`
	Metadata        *metadata      `json:"metadata,omitzero"`
	MessageID       string         `json:"messageId,omitzero"`
	Role            string         `json:"role,omitzero"`
	Delta           string         `json:"delta,omitzero"`
	ToolCallID      string         `json:"toolCallId,omitzero"`
	ToolCallName    string         `json:"toolCallName,omitzero"`
	ParentMessageID string         `json:"parentMessageId,omitzero"`
	Content         *string        `json:"content,omitzero"`
	StepName        string         `json:"stepName,omitzero"`
	Name            string         `json:"name,omitzero"`
	Value           jsontext.Value `json:"value,omitzero"`
	Messages        *[]message     `json:"messages,omitzero"`
	Outcome         *outcome       `json:"outcome,omitzero"`
	Message         string         `json:"message,omitzero"`
	Code            string         `json:"code,omitzero"`
}

// metadata says which of our own sessions and runs an AG-UI run is.
type metadata struct {
	Hearth struct {
		SessionID string `json:"sessionId,omitzero"` // "": nothing was said in the thread yet
		RunID     string `json:"runId,omitzero"`
	} `json:"hearth"`
}

// outcome is how a run ended that did not fail.
type outcome struct {
	Type    string   `json:"type"` // success or cancelled
	Pending []string `json:"pendingToolCallIds,omitempty"`
}

// message is a message of a snapshot.
type message struct {
	ID         string  `json:"id"`
	Role       string  `json:"role"`
	Content    *string `json:"content,omitzero"`
	ToolCalls  []call  `json:"toolCalls,omitempty"`
	ToolCallID string  `json:"toolCallId,omitzero"`
	Error      string  `json:"error,omitzero"`
}

// call is a call in a message of a snapshot.
type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"` // function
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// batch is a few events as they go on the wire.
type batch struct{ data []byte }

func (b *batch) add(events ...event) error {
	for _, e := range events {
		text, err := json.Marshal(e, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return fmt.Errorf("encode %s: %w", e.Type, err)
		}
		b.data = append(append(append(b.data, "data: "...), text...), "\n\n"...)
	}
	return nil
}
