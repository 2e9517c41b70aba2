package llm

import (
	"regexp"
	"strings"
	"sync"
)

// language is what a question was asked in.
type language int

const (
	inEnglish language = iota
	inSwahili
)

// languageOf is the language of a question that is understood.
func languageOf(said string) language {
	if english(said) != said {
		return inSwahili
	}
	return inEnglish
}

// What the model says itself.
const (
	sayHow      = "Looked up with %s by the built-in offline model, which is no language model."
	sayFailed   = "That did not work: "
	sayMore     = `There are more: say "more".`
	sayMoreThan = "More than "
	sayNoMore   = "There is nothing more to show: the last answer was whole. Ask something, or say \"help\"."
)

// sayings are these, and the headings of tool outputs, in Kiswahili.
var sayings = map[string]string{
	sayHow:      "Imetafutwa kwa %s na modeli iliyojengwa ndani ya Hearth, ambayo si modeli ya lugha.",
	sayFailed:   "Haikufaulu: ",
	sayMore:     `Kuna zaidi: sema "zaidi".`,
	sayMoreThan: "Zaidi ya ",
	sayNoMore:   "Hakuna zaidi ya kuonyesha: jibu la mwisho lilikuwa kamili. Uliza jambo, au sema \"msaada\".",

	"Twins": "Pacha", "Groups": "Makundi", "Type": "Aina", "Status": "Hali", "Name": "Jina", "Project": "Mradi", "District": "Wilaya", "Count": "Idadi", "Value": "Thamani",
	"Surveys": "Tafiti", "Survey": "Utafiti", "Stage": "Hatua", "Round": "Awamu", "Target": "Lengo", "Drawn": "Zilizochaguliwa", "Contacted": "Zilizofikiwa",
	"Completed": "Zilizokamilika", "Verified": "Zilizohakikiwa", "Rejected": "Zilizokataliwa", "Refused": "Zilizokataa",
	"Stoves": "Majiko", "Used": "Yaliyotumika", "Events": "Mapishi", "Cooking hours": "Saa za kupika", "Days": "Siku", "Day": "Siku",
	"Figures": "Takwimu", "Of": "Ya", "Estimate": "Kadirio", "Interval": "Kipindi cha uhakika", "N": "Kaya (n)", "Method": "Mbinu", "Question": "Swali", "Remarks": "Maelezo",
	"Differences": "Tofauti", "Draw": "Za kuchagua", "Warnings": "Tahadhari",
}

// say translates a saying to the language, and returns an unknown one
// unchanged.
func (l language) say(saying string) string {
	if own, ok := sayings[saying]; ok && l == inSwahili {
		return own
	}
	return saying
}

// wording replaces words of a certain form.
type wording struct {
	form *regexp.Regexp
	own  string
}

// ways are the phrases with which tools say how they found something.
var ways = sync.OnceValue(func() []wording {
	return []wording{
		{regexp.MustCompile(`^complete responses of the newest active surveys$`), "majibu kamili ya tafiti mpya zinazoendelea"},
		{regexp.MustCompile(`^no survey is active$`), "hakuna utafiti unaoendelea"},
		{regexp.MustCompile(`^the newest ones$`), "hizi ni mpya zaidi"},
		{regexp.MustCompile(`^all twins you may see`), "pacha zote unazoweza kuona"},
		{regexp.MustCompile(`^twins you may see: `), "pacha unazoweza kuona: "},
		{regexp.MustCompile(`\btype (\S+), which no twin has \(there are (.+)\)$`), "aina $1, ambayo haina pacha (zilizopo: $2)"},
		{regexp.MustCompile(`\btype ([^"]+)$`), "aina $1"},
		{regexp.MustCompile(`\bstatus ([a-z]+)$`), "hali $1"},
		{regexp.MustCompile(`\bin the project (".*)$`), "katika mradi $1"},
		{regexp.MustCompile(`\bin the district (".*"), because no project has that name`), "katika wilaya ya $1, kwa kuwa hakuna mradi wenye jina hilo"},
		{regexp.MustCompile(`(".*") in the name$`), "jina lenye $1"},
		{regexp.MustCompile(`\bof the first (\d+)$`), "kati ya $1 za kwanza"},
		{regexp.MustCompile(`^proportion of (".*")$`), "sehemu ya kaya: $1"},
		{regexp.MustCompile(`^mean of (".*")$`), "wastani wa $1"},
		{regexp.MustCompile(`^(\S+ %) confidence$`), "uhakika wa $1"},
		{regexp.MustCompile(`^round (\d+)$`), "awamu ya $1"},
		{regexp.MustCompile(`^(\d+) of (\d+) households of the sample answered$`), "kaya $1 kati ya $2 za sampuli zimejibu"},
		{regexp.MustCompile(`^(\d+) responses are needed, so draw (\d+) households$`), "majibu $1 yanahitajika, kwa hiyo chagua kaya $2"},
		{regexp.MustCompile(`^of (\d+) households$`), "kati ya kaya $1"},
		{regexp.MustCompile(`^relative precision (\S+ %)$`), "usahihi wa $1"},
		{regexp.MustCompile(`^expected proportion of (\S+ %)$`), "sehemu inayotarajiwa $1"},
		{regexp.MustCompile(`^dropout (\S+ %)$`), "watakaokosekana $1"},
		{regexp.MustCompile(`^design effect (\S+)$`), "athari ya usanifu $1"},
		{regexp.MustCompile(`" or "`), `" au "`},
		{regexp.MustCompile(`, the only one\b`), ", ambao ni pekee"},
		{regexp.MustCompile(`, from the figures of each day and stove$`), ", kwa takwimu za kila siku na kila jiko"},
	}
})

// how says in the language how a tool found something.
func (l language) how(said string) string {
	if l != inSwahili {
		return said
	}
	parts := strings.Split(said, "; ")
	for i := range parts {
		for _, w := range ways() {
			parts[i] = w.form.ReplaceAllString(parts[i], w.own)
		}
	}
	return strings.Join(parts, "; ")
}

// refusals are what tools say that answer the plain questions, when they cannot.
var refusals = sync.OnceValue(func() []wording {
	return []wording{
		{regexp.MustCompile(`^survey: No survey has this id or name\. Ask for the list of surveys\.$`), `Hakuna utafiti wenye kitambulisho au jina hilo. Sema "Orodhesha tafiti".`},
		{regexp.MustCompile(`^survey: Several surveys are called so: (.+)\. Give the id of one\.$`), "Tafiti kadhaa zina jina hilo: $1. Taja kitambulisho cha mmoja."},
		{regexp.MustCompile(`^question: No question with figures has these words\. There are: (.+)$`), "Hakuna swali lenye takwimu na maneno hayo. Yaliyopo: $1"},
		{regexp.MustCompile(`^question: Name a question\. There are: (.+)$`), "Taja swali. Yaliyopo: $1"},
		{regexp.MustCompile(`^question: Several questions have these words: (.+)$`), "Maswali kadhaa yana maneno hayo: $1"},
		{regexp.MustCompile(`^in: Name a project that is there; "list projects" shows them\.$`), `Taja mradi uliopo; "Orodhesha miradi" huionyesha.`},
		{regexp.MustCompile(`^in: Several projects have this name\. Give the DID of one as project: (.+)$`), "Miradi kadhaa ina jina hilo. Taja DID ya mmoja: $1"},
		{regexp.MustCompile(`^in: Say which project is meant: (.+)$`), "Sema ni mradi upi: $1"},
		{regexp.MustCompile(`^You have no right to see this: none of your groups gives (\S+)\.$`), "Huna ruhusa ya kuona hili: hakuna kundi lako linalotoa $1."},
		{regexp.MustCompile(`^The tool failed\.$`), "Zana imeshindwa."},
		{regexp.MustCompile(`^This call was sent before and failed\. It is not repeated\.$`), "Mwito huu ulitumwa awali ukashindwa. Haurudiwi."},
	}
})

// refusal says in the language why a tool gave nothing; text without a translation
// stays unchanged.
func (l language) refusal(said string) string {
	if l != inSwahili {
		return said
	}
	for _, r := range refusals() {
		if r.form.MatchString(said) {
			return r.form.ReplaceAllString(said, r.own)
		}
	}
	return said
}
