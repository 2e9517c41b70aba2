package llm

import (
	"context"
	"strings"
)

// Words for customers, who know nothing of models and tools, by language. English is
// for all others.
var (
	customerUnknown = map[string]string{
		"en": "I cannot answer that here. Please choose from the menu, or ask your agent.",
		"sw": "Siwezi kujibu swali hilo hapa. Tafadhali chagua kwenye menyu, au muulize wakala wako.",
	}
	customerFailed = map[string]string{
		"en": "I could not look that up. Please try again later.",
		"sw": "Sikuweza kupata jibu hilo. Tafadhali jaribu tena baadaye.",
	}
)

func customerWords(in map[string]string, lang string) string {
	lang, _, _ = strings.Cut(strings.ToLower(lang), "-")
	if text, ok := in[lang]; ok {
		return text
	}
	return in["en"]
}

// serve answers a customer: it knows the plain questions and no commands, and what it
// says is of the thing asked about, not of itself.
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
	if call, ok := intent(english(strings.TrimSpace(m.Content)), r.Tools); ok && !r.NoTools {
		return w.call(ctx, call)
	}
	return w.say(ctx, unknown)
}
