package llm

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// The plain questions the offline model knows. Each looks for a tool that can
// answer by its name, and for the argument to fill by the tool's schema, so
// that it works with the tools there are.
var (
	didWord    = regexp.MustCompile(`did:[a-z0-9]+:[A-Za-z0-9._:%/-]*[A-Za-z0-9_-]`)
	listTwins  = regexp.MustCompile(`(?i)^(?:please )?(?:list|show|find|search)(?: for)?(?: me)?(?: all| the| my)*\s*(.*?)\s*\b(?:twins?|entities|entity)\b\s*(?:named|called|for|about|with|like)?\s*(.*?)[.?!]*$`)
	surveyWord = regexp.MustCompile(`(?i)\b(?:progress|status|how far)\b.*?\b(?:surveys?|campaigns?)\b\s*(?:of|for|named|called)?\s*(.*?)[.?!]*$`)
)

// intent finds a plain question in what a user said.
func intent(said string, tools []tool.Spec) (tool.Call, bool) {
	said = strings.TrimSpace(said)
	if m := surveyWord.FindStringSubmatch(said); m != nil {
		if s, ok := pickTool(tools, []string{"survey"}, []string{"progress", "status"}); ok {
			return callWith(s, m[1], "survey", "surveyId", "campaign", "campaignId", "id", "did", "query"), true
		}
	}
	if did := didWord.FindString(said); did != "" {
		if s, ok := pickTool(tools, []string{"twin", "entity"}, []string{"read", "get"}); ok {
			return callWith(s, did, "did", "id"), true
		}
	}
	if m := listTwins.FindStringSubmatch(said); m != nil {
		if s, ok := pickTool(tools, []string{"twin", "entit"}, []string{"search", "list", "find"}); ok {
			return callWith(s, strings.TrimSpace(m[1]+" "+m[2]), "query", "q", "text", "search", "name"), true
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

// callWith calls s with value under the first of names its schema declares.
func callWith(s tool.Spec, value string, names ...string) tool.Call {
	var schema struct {
		Properties map[string]jsontext.Value `json:"properties"`
	}
	_ = json.Unmarshal(s.Schema, &schema) // without one there is nothing to fill
	args := map[string]string{}
	for _, name := range names {
		if _, ok := schema.Properties[name]; ok && value != "" {
			args[name] = value
			break
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		raw = emptyArgs()
	}
	return tool.Call{Name: s.Name, Args: raw}
}

// help says what the offline model is and can do.
func help(tools []tool.Spec) string {
	var b strings.Builder
	b.WriteString("I am the built-in offline model of Hearth, not a language model. No language model is configured: set LLM_BASE_URL or LLM_PROVIDER for one.\n\n" +
		"I understand: \"list twins\", \"find twins named …\", a DID (I read that twin), \"progress of survey …\" and \"help\".\n\n" +
		"Commands: /tool name {json} · /tools [{\"name\":…,\"args\":{…}}, …] · /echo text · /think text · /slow 100ms 50 · /fail kind.")
	if len(tools) > 0 {
		b.WriteString("\n\nTools:")
		for _, t := range tools {
			b.WriteString("\n- " + t.Name + ": " + t.Description)
		}
	}
	return b.String()
}
