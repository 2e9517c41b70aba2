package llm

import (
	"cmp"
	"context"
	"regexp"
	"strings"
)

// Texts for customers, who know nothing of models and tools, by language. English is
// for all others.
var (
	customerUnknown = map[string]string{
		"en": "I cannot answer that here. Please choose from the menu, or ask your agent.",
		"sw": "Siwezi kujibu swali hilo hapa. Tafadhali chagua kwenye menyu, au muulize wakala wako.",
	}
	customerFailed = map[string]string{
		"en": "I could not look that up. Please try again later, or ask your agent.",
		"sw": "Sikuweza kupata jibu hilo. Tafadhali jaribu tena baadaye, au muulize wakala wako.",
	}
	customerHelp = map[string]string{"en": "You can ask: ", "sw": "Unaweza kuuliza: "}
	// customerAsks are questions to begin with, one on a line.
	customerAsks = map[string]string{
		"en": "List stoves\nHow many stoves are there?\nHow much are the stoves used?",
		"sw": "Onyesha majiko\nKuna majiko mangapi?\nMajiko yanatumika kiasi gani?",
	}
)

// customerHelpWord asks what can be asked, in whatever language.
var customerHelpWord = regexp.MustCompile(`(?i)^(?:help|msaada|nisaidie)[.?!]*$`)

func customerWords(in map[string]string, lang string) string {
	lang, _, _ = strings.Cut(strings.ToLower(lang), "-")
	if text, ok := in[lang]; ok {
		return text
	}
	return in["en"]
}

// customerHelped says what a customer can ask with these tools; "" for nothing.
func customerHelped(r Request) string {
	var asks []string
	for q := range strings.SplitSeq(customerWords(customerAsks, r.Customer), "\n") {
		if _, ok := intent(english(q), r.Tools); ok && !r.NoTools {
			asks = append(asks, q)
		}
	}
	if len(asks) == 0 {
		return ""
	}
	return customerWords(customerHelp, r.Customer) + strings.Join(asks, " / ")
}

// serve answers a customer: it knows the plain questions and no commands, and its
// answers are about the subject, not about itself.
func (o Offline) serve(ctx context.Context, w *speaker, r Request) error {
	last := len(r.Messages) - 1
	for last >= 0 && r.Messages[last].Role == System {
		last--
	}
	unknown := customerWords(customerUnknown, r.Customer)
	if last < 0 {
		return w.say(ctx, unknown)
	}
	m := r.Messages[last]
	if m.Role == Tool {
		if m.Failed {
			return w.say(ctx, customerWords(customerFailed, r.Customer))
		}
		l := inEnglish
		if strings.HasPrefix(strings.ToLower(r.Customer), "sw") {
			l = inSwahili
		}
		return w.say(ctx, shown(l.table(m.Content)))
	}
	said := strings.TrimSpace(m.Content)
	if call, ok := intent(english(said), r.Tools); ok && !r.NoTools {
		return w.call(ctx, call)
	}
	if customerHelpWord.MatchString(said) {
		return w.say(ctx, cmp.Or(customerHelped(r), unknown))
	}
	return w.say(ctx, unknown)
}
