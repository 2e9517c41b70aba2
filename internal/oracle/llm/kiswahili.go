package llm

import (
	"regexp"
	"strings"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// nouns are the things people ask about, as the tools know them.
var nouns = map[string]string{
	"kaya": "households", "majiko": "stoves", "jiko": "stoves", "vifaa": "devices", "watu": "persons", "miradi": "projects", "mashirika": "organisations",
	"tafiti": "surveys",
}

// place is where, at the end of a question.
const place = `(?:\s+(?:katika|kwenye|huko)\s+(.+?))?[.?!]*$`

// swahili are the questions that are understood in Kiswahili, each with its English
// form: %noun and %place are replaced by translated words, %1 and %2 by words
// unchanged.
var swahili = sync.OnceValue(func() []wording {
	return []wording{
		{regexp.MustCompile(`(?i)^(?:je,?\s+)?utafiti(?:\s+wa\s+.+?)?\s+umefika\s+wapi()[.?!]*$`), "how far is the survey"},
		{regexp.MustCompile(`(?i)^(?:je,?\s+)?utafiti\s+(.+?)\s+unasema\s+nini\s+kuhusu\s+(.+?)[.?!]*$`), "what does survey %1 say about %2"},
		{regexp.MustCompile(`(?i)^(?:je,?\s+)?ninahitaji\s+sampuli\s+ya\s+kaya\s+ngapi\s+kati\s+ya\s+([\d,]+)()[.?!]*$`), "how large a sample for %1 households"},
		{regexp.MustCompile(`(?i)^(?:je,?\s+)?(?:kuna\s+)?(\p{L}+)\s+(?:ma|mi|vi|wa)?ngapi(?:\s+(?:zipo|yapo|vipo|wapo|ipo))?` + place), "how many %noun are there%place"},
		{regexp.MustCompile(`(?i)^(?:tafadhali\s+)?(?:orodhesha|onyesha)\s+(\p{L}+)(?:\s+(?:zote|yote|vyote|wote))?` + place), "list %noun%place"},
		{regexp.MustCompile(`(?i)^(?:je,?\s+)?(majiko)\s+(?:yanatumika|yametumika|hutumika)\s+(?:kiasi\s+gani|mara\s+ngapi)` + place), "how much are the stoves used%place"},
		{regexp.MustCompile(`(?i)^(?:zaidi|endelea)()[.?!]*$`), "more"},
	}
})

// english translates a question in Kiswahili to English, and returns anything
// else unchanged.
func english(said string) string {
	for _, q := range swahili() {
		m := q.form.FindStringSubmatch(said)
		if m == nil {
			continue
		}
		if strings.Contains(q.own, "%1") {
			return strings.NewReplacer("%1", m[1], "%2", m[2]).Replace(q.own)
		}
		noun := nouns[strings.ToLower(m[1])]
		if m[1] != "" && noun == "" {
			continue
		}
		where := ""
		if len(m) > 2 && m[2] != "" {
			where = " in " + m[2]
		}
		return strings.NewReplacer("%noun", noun, "%place", where).Replace(q.own)
	}
	return said
}

// helpWord asks for help in Kiswahili.
var helpWord = regexp.MustCompile(`(?i)^(?:msaada|nisaidie)[.?!]*$`)

const swahiliHelp = "Mimi ni modeli iliyojengwa ndani ya Hearth, si modeli ya lugha. Hakuna modeli ya lugha iliyowekwa: weka LLM_BASE_URL au LLM_PROVIDER kuipata.\n\n" +
	"Ninaelewa: \"Utafiti umefika wapi?\", \"Kuna kaya ngapi katika Kitui?\", \"Orodhesha tafiti\", \"Onyesha majiko\", \"Majiko yanatumika kiasi gani?\", " +
	"\"Utafiti … unasema nini kuhusu …?\", \"Ninahitaji sampuli ya kaya ngapi kati ya 5000?\", DID (ninasoma pacha huyo), \"zaidi\" na \"msaada\".\n\n" +
	"Amri: /tool jina {json} · /tools [{\"name\":…,\"args\":{…}}, …] · /echo maneno · /think maneno · /slow 100ms 50 · /fail aina."

// helpSwahili is the help in Kiswahili. What tools do is described in English only, for
// models, so they are named.
func helpSwahili(tools []tool.Spec) string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	if len(names) == 0 {
		return swahiliHelp
	}
	return swahiliHelp + "\n\nZana: " + strings.Join(names, ", ") + "."
}
