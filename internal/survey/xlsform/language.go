package xlsform

import (
	"regexp"
	"strings"
)

// languageNames are the names in column headers, by language tag.
var languageNames = map[string]string{
	"am": "Amharic", "ar": "Arabic", "bn": "Bengali", "bem": "Bemba", "de": "German", "en": "English", "es": "Spanish", "ff": "Fula", "fil": "Filipino",
	"fr": "French", "gu": "Gujarati", "ha": "Hausa", "hi": "Hindi", "ht": "Haitian Creole", "id": "Indonesian", "ig": "Igbo", "it": "Italian", "kam": "Kamba",
	"ki": "Kikuyu", "km": "Khmer", "kn": "Kannada", "lg": "Luganda", "ln": "Lingala", "lo": "Lao", "luo": "Dholuo", "mg": "Malagasy", "mr": "Marathi", "ms": "Malay",
	"my": "Burmese", "nd": "Ndebele", "ne": "Nepali", "nl": "Dutch", "ny": "Chichewa", "om": "Oromo", "pa": "Punjabi", "ps": "Pashto", "pt": "Portuguese",
	"qu": "Quechua", "rn": "Kirundi", "ru": "Russian", "rw": "Kinyarwanda", "si": "Sinhala", "sn": "Shona", "so": "Somali", "st": "Sesotho", "sw": "Kiswahili",
	"ta": "Tamil", "te": "Telugu", "th": "Thai", "ti": "Tigrinya", "tl": "Tagalog", "tn": "Setswana", "tr": "Turkish", "ts": "Tsonga", "uk": "Ukrainian", "ur": "Urdu",
	"uz": "Uzbek", "vi": "Vietnamese", "wo": "Wolof", "xh": "Xhosa", "yo": "Yoruba", "zh": "Chinese", "zu": "Zulu",
}

// otherNames are names of languages that people write too.
var otherNames = map[string]string{
	"swahili": "sw", "français": "fr", "francais": "fr", "español": "es", "espanol": "es", "português": "pt", "portugues": "pt", "deutsch": "de", "italiano": "it",
	"ganda": "lg", "luo": "luo", "rwanda": "rw", "rundi": "rn", "sotho": "st", "tswana": "tn", "nyanja": "ny", "oromiffa": "om", "afaan oromo": "om",
	"bahasa indonesia": "id", "हिन्दी": "hi", "नेपाली": "ne", "বাংলা": "bn", "العربية": "ar", "አማርኛ": "am", "isizulu": "zu", "isixhosa": "xh",
}

var (
	tagPattern  = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$`)
	codePattern = regexp.MustCompile(`^(.*?)\s*\(\s*([A-Za-z0-9_-]+)\s*\)$`)
)

// LanguageName is the name of a language in ODK: "Kiswahili (sw)".
func LanguageName(tag string) string { return languageHeader(tag) }

// languageHeader is a language as headers name it: "Kiswahili (sw)".
func languageHeader(tag string) string {
	name := languageNames[tag]
	if base, _, ok := strings.Cut(tag, "-"); ok && name == "" {
		name = languageNames[base]
	}
	if name == "" {
		name = tag
	}
	return name + " (" + tag + ")"
}

// languageTag is the tag of a language as a header names it: by its code in
// brackets, by its code alone, or by its name.
func languageTag(header string) (string, bool) {
	header = strings.TrimSpace(header)
	if m := codePattern.FindStringSubmatch(header); m != nil {
		return checkTag(m[2])
	}
	folded := strings.ToLower(header)
	if tag, ok := otherNames[folded]; ok {
		return tag, true
	}
	for tag, name := range languageNames {
		if strings.ToLower(name) == folded {
			return tag, true
		}
	}
	return checkTag(header)
}

func checkTag(s string) (string, bool) {
	base, rest, cut := strings.Cut(strings.ReplaceAll(s, "_", "-"), "-")
	tag := strings.ToLower(base)
	if cut {
		tag += "-" + rest
	}
	return tag, tagPattern.MatchString(tag)
}
