package llm

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// didWord is a DID in a sentence.
var didWord = regexp.MustCompile(`did:[a-z0-9]+:[A-Za-z0-9._:%/-]*[A-Za-z0-9_-]`)

// question is a plain question the offline model knows: the words it is put in,
// the tool that answers it, found by its name, and what each part of the words
// is for it. A part has the names an argument may have, of which the schema of
// the tool decides.
type question struct {
	form        *regexp.Regexp
	about, does []string
	parts       [][]string
}

// Parts of questions.
var (
	partType    = []string{"type", "query", "q", "text", "search"}
	partName    = []string{"name", "query", "q", "text", "search"}
	partStatus  = []string{"status"}
	partIn      = []string{"in"}
	partProject = []string{"project"}
	partBy      = []string{"by"}
	partSurvey  = []string{"survey", "surveyId", "campaign", "campaignId", "id", "did", "query"}
	partAsked   = []string{"question"}
	partPeople  = []string{"population"}
	partDID     = []string{"did", "id"}
	twinWords   = []string{"twin", "entit"}
)

// questions are tried in this order. They are compiled on first use: where a model
// is configured that never happens.
var questions = sync.OnceValue(func() []question {
	return []question{
		{
			regexp.MustCompile(`(?i)^(?:what (?:does|do) (?:the )?(?:survey|campaign)\s+(.+?)\s+say about|(?:show |tell )?(?:me )?(?:the )?(?:statistics|figures|results?) of (?:the )?(?:survey|campaign)\s+(.+?)\s+(?:for|about|on))\s+(.+?)[.?!]*$`),
			[]string{"survey"},
			[]string{"statistic"},
			[][]string{partSurvey, partSurvey, partAsked},
		},
		{
			regexp.MustCompile(`(?i)^how (?:large|big) (?:a|must a|must the|should a|should the)? ?sample\b.*?\b(?:for|of|from|out of)\s+([\d,]+)(?:\s+\p{L}+)?[.?!]*$`),
			[]string{"sample"},
			[]string{"size"},
			[][]string{partPeople},
		},
		{
			regexp.MustCompile(`(?i)\b(?:progress|status|how far)\b.*?\b(?:surveys?|campaigns?)\b\s*(?:of|for|named|called)?\s*(.*?)[.?!]*$`),
			[]string{"survey"},
			[]string{"progress", "status"},
			[][]string{partSurvey},
		},
		{
			regexp.MustCompile(`(?i)^(?:how (?:much|often|long) (?:are|were) (?:the )?(?:stoves|devices) used|(?:show |tell )?(?:me )?(?:the )?(?:fleet |stove )?usage)(?:\s+(?:in|of|for)\s+(?:(` + didWord.String() + `)|(.+?)))?[.?!]*$`),
			[]string{"fleet"},
			[]string{"usage"},
			[][]string{partProject, partIn},
		},
		{
			regexp.MustCompile(`(` + didWord.String() + `)`),
			[]string{"twin", "entity"},
			[]string{"read", "get"},
			[][]string{partDID},
		},
		{
			regexp.MustCompile(`(?i)^(?:please )?(?:list|show|find)(?: me)?(?: all| the| my)*\s*(?:(draft|ready|active|paused|closed|archived)\s+)?(?:surveys|campaigns)[.?!]*$`),
			[]string{"survey"},
			[]string{"list"},
			[][]string{partStatus},
		},
		{
			regexp.MustCompile(`(?i)^(?:how many|count)(?: the| all)?\s+(?:(draft|active|suspended|completed|deactivated)\s+)?(?:twins|entities|([\p{L}\d_-]+?))(?:\s+(?:are|is)(?: there)?(?:\s+(draft|active|suspended|completed|deactivated))?)?(?:\s+in\s+(.+?))?(?:\s+(?:by|per|in each)\s+([\p{L}\d_.-]+))?[.?!]*$`),
			twinWords,
			[]string{"count"},
			[][]string{partStatus, partType, partStatus, partIn, partBy},
		},
		{
			regexp.MustCompile(`(?i)^(?:please )?(?:list|show|find|search)(?: for)?(?: me)?(?: all| the| my)*\s*(.*?)\s*\b(?:twins?|entities|entity)\b\s*(?:(?:named|called|for|about|with|like)\s*(.*?))?[.?!]*$`),
			twinWords,
			[]string{"search", "list", "find"},
			[][]string{partType, partName},
		},
		{
			regexp.MustCompile(`(?i)^(?:please )?(?:list|show|find)(?: me)?(?: all| the| my)*\s+(?:(draft|active|suspended|completed|deactivated)\s+)?([\p{L}\d_-]+)(?:\s+(?:named|called|like)\s+(.+?))?(?:\s+in\s+(.+?))?[.?!]*$`),
			twinWords,
			[]string{"search", "list", "find"},
			[][]string{partStatus, partType, partName, partIn},
		},
	}
})

// moreWord asks for the next page.
var moreWord = regexp.MustCompile(`(?i)^(?:please )?(?:show |list )?(?:me )?(?:more|next|go on|continue)[.?!]*$`)

// intent finds a plain question in what a user said.
func intent(said string, tools []tool.Spec) (tool.Call, bool) {
	said = strings.TrimSpace(said)
	for _, q := range questions() {
		m := q.form.FindStringSubmatch(said)
		if m == nil {
			continue
		}
		if s, ok := pickTool(tools, q.about, q.does); ok {
			return callWith(s, m[1:], q.parts), true
		}
	}
	return tool.Call{}, false
}

// goOn repeats the last call of a conversation from where its answer ended.
func goOn(messages []Message) (tool.Call, bool) {
	for i := len(messages) - 1; i > 0; i-- {
		if messages[i].Role != Tool {
			continue
		}
		var page struct {
			Next string `json:"next"`
		}
		if err := json.Unmarshal([]byte(messages[i].Content), &page); err != nil || page.Next == "" {
			return tool.Call{}, false
		}
		for _, m := range slices.Backward(messages[:i]) {
			for _, c := range m.ToolCalls {
				args := map[string]jsontext.Value{}
				if c.ID == messages[i].ToolCallID && json.Unmarshal(c.Args, &args) == nil {
					args["next"] = jsontext.Value(strconv.Quote(page.Next))
					raw, err := json.Marshal(args, json.Deterministic(true))
					return tool.Call{Name: c.Name, Args: raw}, err == nil
				}
			}
		}
	}
	return tool.Call{}, false
}

// pickTool finds the first tool whose name holds a word of each list.
func pickTool(tools []tool.Spec, about, does []string) (tool.Spec, bool) {
	for _, s := range tools {
		has := func(word string) bool { return strings.Contains(strings.ToLower(s.Name), word) }
		if slices.ContainsFunc(about, has) && slices.ContainsFunc(does, has) {
			return s, true
		}
	}
	return tool.Spec{}, false
}

// callWith calls s with each value under the first name of its part that the
// schema declares and that is still free.
func callWith(s tool.Spec, values []string, parts [][]string) tool.Call {
	var schema struct {
		Properties map[string]jsontext.Value `json:"properties"`
	}
	_ = json.Unmarshal(s.Schema, &schema) // without one there is nothing to fill
	args := map[string]any{}
	for i, names := range parts {
		value := strings.TrimSpace(values[i])
		if value == "" {
			continue
		}
		for _, name := range names {
			if one, ok := schema.Properties[name]; ok && args[name] == nil {
				args[name] = typed(one, value)
				break
			}
		}
	}
	raw, err := json.Marshal(args, json.Deterministic(true))
	if err != nil {
		raw = emptyArgs()
	}
	return tool.Call{Name: s.Name, Args: raw}
}

// typed converts a value to the type in an argument's schema: a number where it says
// so.
func typed(schema jsontext.Value, value string) any {
	var of struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(schema, &of) == nil && (of.Type == "number" || of.Type == "integer") {
		if n, err := strconv.ParseFloat(strings.ReplaceAll(value, ",", ""), 64); err == nil {
			return n
		}
	}
	return value
}

// help says what the offline model is and can do.
func help(tools []tool.Spec) string {
	var b strings.Builder
	b.WriteString("I am the built-in offline model of Hearth, not a language model. No language model is configured: set LLM_BASE_URL or LLM_PROVIDER for one.\n\n" +
		"I understand: \"list twins\", \"list households\", \"find twins named …\", \"how many stoves are active in Kitui?\", \"count twins by type\", \"how much are the stoves used in Kitui?\", " +
		"\"list surveys\", \"progress of survey …\", \"what does survey … say about …?\", \"how large a sample do I need for 5000 households?\", a DID (I read that twin), \"more\" and \"help\".\n\n" +
		"Commands: /tool name {json} · /tools [{\"name\":…,\"args\":{…}}, …] · /echo text · /think text · /slow 100ms 50 · /fail kind.")
	if len(tools) > 0 {
		b.WriteString("\n\nTools:")
		for _, t := range tools {
			b.WriteString("\n- " + t.Name + ": " + t.Description)
		}
	}
	return b.String()
}
