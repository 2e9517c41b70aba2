package socket

import (
	"fmt"
	"strings"

	jsonx "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// Limits of an answer.
const (
	maxResult    = 256 << 10 // bytes of JSON
	maxErrorText = 2_000     // bytes
)

// What a model is told when no answer came.
const (
	textAlone    = "No browser is connected to this session, so the tool was not run."
	textLeft     = "The browser disconnected before it answered."
	textDeleted  = "The session was deleted before the browser answered."
	textLarge    = "The result is larger than 256 KiB."
	textFailed   = "Action failed"
	textToolFail = "Browser tool failed"
)

func failed(text string) tool.Output { return tool.Output{Err: text} }

// timeoutText is in the original's words.
func timeoutText(s tool.Spec, ms int64) string {
	if s.Kind == tool.Action {
		return fmt.Sprintf("AG-UI action timeout after %dms: %s", ms, s.Name)
	}
	return fmt.Sprintf("Browser tool timeout after %dms: %s", ms, s.Name)
}

// answer is what a page sends back.
type answer struct {
	Result jsontext.Value `json:"result,omitzero"`
	Error  jsontext.Value `json:"error,omitzero"`
}

// output makes of an answer what the model gets. An action also fails by a
// result that says so.
func (a answer) output(event string) tool.Output {
	if len(a.Result) > maxResult {
		return failed(textLarge)
	}
	if event == eventActionCall {
		return a.action()
	}
	if text, is := errorText(a.Error, textToolFail); is {
		return failed(text)
	}
	return resultOf(a.Result)
}

func (a answer) action() tool.Output {
	text, is := errorText(a.Error, textFailed)
	var result struct {
		Success *bool          `json:"success"`
		Error   jsontext.Value `json:"error"`
	}
	if !is && a.Result.Kind() == '{' && jsonx.Unmarshal(a.Result, &result) == nil && result.Success != nil && !*result.Success {
		if text, is = errorText(result.Error, textFailed); !is {
			text, is = textFailed, true
		}
	}
	if is {
		return failed(text)
	}
	return resultOf(a.Result)
}

// resultOf makes a successful result. A page that returns nothing gives null.
func resultOf(v jsontext.Value) tool.Output {
	if len(v) == 0 {
		return tool.Output{Data: jsontext.Value("null")}
	}
	var text string
	if v.Kind() == '"' && jsonx.Unmarshal(v, &text) == nil && text != "" {
		return tool.Output{Text: text}
	}
	return tool.Output{Data: v.Clone()}
}

// errorText reads what a page calls an error: a text, an object with a message,
// or whatever else is not nothing.
func errorText(v jsontext.Value, otherwise string) (string, bool) {
	switch v.Kind() {
	case '"':
		var text string
		if jsonx.Unmarshal(v, &text) != nil || text == "" {
			return "", false
		}
		return cut(text), true
	case '{':
		var with struct {
			Message string `json:"message"`
		}
		if jsonx.Unmarshal(v, &with) == nil && with.Message != "" {
			return cut(with.Message), true
		}
		return cut(string(v)), true
	case '[', '0':
		return cut(string(v)), true
	case 't':
		return otherwise, true
	}
	return "", false
}

// cut shortens a text for the model.
func cut(text string) string {
	if len(text) > maxErrorText {
		text = text[:maxErrorText]
	}
	return strings.ToValidUTF8(text, "")
}
