package account

import "fmt"

// The sentences that are not in menu packs: messages, and why a PIN is weak.
// Languages without an entry get English.
var (
	weakWords = map[weakness]map[string]string{
		weakSame:   {"en": "All its digits are the same.", "sw": "Tarakimu zake zote ni sawa."},
		weakRun:    {"en": "Its digits follow each other.", "sw": "Tarakimu zake zinafuatana."},
		weakRepeat: {"en": "It repeats two digits.", "sw": "Inarudia tarakimu mbili."},
		weakPhone:  {"en": "It is the end of your phone number.", "sw": "Ni mwisho wa namba yako ya simu."},
		weakOld:    {"en": "It is the PIN you have now.", "sw": "Ndiyo PIN unayotumia sasa."},
		weakForm:   {"en": "A PIN has 5 digits.", "sw": "PIN ina tarakimu 5."},
	}
	welcomeWords = map[string]string{
		"en": "Your account is ready. Your customer ID is %s. Keep it: you need it to log in. Never tell anybody your PIN.",
		"sw": "Akaunti yako iko tayari. Namba yako ya mteja ni %s. Itunze: unaihitaji kuingia. Usimwambie mtu yeyote PIN yako.",
	}
	codeWords = map[string]string{
		"en": "Your code for a new PIN is %s. It is valid for 10 minutes. Never tell it to anybody.",
		"sw": "Msimbo wako wa PIN mpya ni %s. Unatumika kwa dakika 10. Usimwambie mtu yeyote.",
	}
	blockedWords = map[string]string{
		"en": "Your account is blocked after too many wrong PINs. Please ask customer care to unlock it.",
		"sw": "Akaunti yako imefungwa kwa sababu ya PIN nyingi zisizo sahihi. Tafadhali omba huduma kwa wateja waifungue.",
	}
	temporaryWords = map[string]string{
		"en": "Your temporary PIN is %s. Log in with it within 24 hours and choose a new one.",
		"sw": "PIN yako ya muda ni %s. Ingia nayo ndani ya saa 24 kisha chagua mpya.",
	}
)

// say gives a sentence in a language.
func say(words map[string]string, lang string, args ...any) string {
	text, ok := words[lang]
	if !ok {
		text = words["en"]
	}
	return fmt.Sprintf(text, args...)
}
