package report

import (
	"fmt"
	"strings"
)

// Say returns a sentence of a picture in its language, given in English. Without a
// translation it stays English.
func (f Frame) Say(english string, args ...any) string { return say(f.Language, english, args...) }

// Spoken is the language of the words: English if there are no words in the
// language of f.
func (f Frame) Spoken() string {
	language, _, _ := strings.Cut(f.Language, "-")
	if words[language] == nil {
		return "en"
	}
	return language
}

// lang is the attribute for the language of the words, where that is not English.
func (f Frame) lang() string {
	if language := f.Spoken(); language != "en" {
		return ` lang="` + language + `"`
	}
	return ""
}

func say(language, english string, args ...any) string {
	language, _, _ = strings.Cut(language, "-")
	text := english
	if known := words[language][english]; known != "" {
		text = known
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// words are by language and English words; both have the same blanks in the same
// order.
var words = map[string]map[string]string{"sw": both(picturesSW, reportSW)}

// picturesSW are the words of pictures in Kiswahili.
var picturesSW = map[string]string{
	"All households":                        "Kaya zote",
	"all households":                        "kaya zote",
	"Share of households":                   "Sehemu ya kaya",
	"Mean":                                  "Wastani",
	"Total":                                 "Jumla",
	"Median":                                "Kati",
	"Quantile %s":                           "Kipimo cha mgawanyo %s",
	"Ratio, per %s":                         "Uwiano, kwa %s",
	"not shown: too few":                    "haionyeshwi: chache mno",
	"points":                                "pointi",
	"difference":                            "tofauti",
	"%s less %s":                            "%s kutoa %s",
	"round %s":                              "awamu %s",
	"exact":                                 "kamili",
	"Yes":                                   "Ndiyo",
	"No":                                    "Hapana",
	"Other":                                 "Nyingine",
	", weights fitted to known totals (%s)": ", uzito umelinganishwa na jumla zinazojulikana (%s)",
	" · %s %% intervals%s":                  " · vipindi vya %s %%%s",
	" · %s %% one-sided intervals%s":        " · vipindi vya upande mmoja vya %s %%%s",
	"%s · round %d · %s of %s households answered":        "%s · awamu %d · kaya %s kati ya %s zilijibu",
	"%d more are not shown.":                              "Nyingine %d hazionyeshwi.",
	"not shown, because it comes from too few households": "haionyeshwi, kwa sababu inatoka kwa kaya chache mno",
	"not known":                 "haijulikani",
	", %s %% interval %s to %s": ", kipindi cha %s %% %s hadi %s",
	", no interval":             ", hakuna kipindi",
	", from %s households":      ", kutoka kaya %s",
	"%s (%s to %s)%s":           "%s (%s hadi %s)%s",
	"Outline: wanted. Light: answered. Dark: verified.": "Mstari wa nje: yanayotakiwa. Hafifu: yaliyojibiwa. Iliyokolea: yaliyohakikiwa.",
	"%s: %s, %d verified":                               "%s: %s, %d yamehakikiwa",
	"%s of %s (%d %%)":                                  "%s kati ya %s (%d %%)",
	"Answers by stratum":                                "Majibu kwa tabaka",
	"Round %d":                                          "Awamu %d",
	"%s of %s households are drawn.":                    "Kaya %s kati ya %s zimechorwa.",
	"Mean of the two":                                   "Wastani wa zote mbili",
	"upper limit":                                       "kikomo cha juu",
	"bias":                                              "upendeleo",
	"lower limit":                                       "kikomo cha chini",
	"%d households":                                     "Kaya %d",

	"There are too few households for a bias": "Kaya ni chache mno kukadiria upendeleo",

	"Bias %s": "Upendeleo %s",

	"Bias %s%s, limits of agreement %s to %s%s": "Upendeleo %s%s, mipaka ya kukubaliana %s hadi %s%s",

	"Said":                       "Waliyosema",
	"Measured":                   "Iliyopimwa",
	"%s a day":                   "%s kwa siku",
	"sensors":                    "vipima joto",
	"kitchen tests":              "majaribio ya jikoni",
	"Say that they use it":       "Wanaosema wanalitumia",
	"Measured to use it":         "Waliopimwa kuwa wanalitumia",
	"Household and sensor agree": "Kaya na kipima joto vinakubaliana",
	"Over-reported: share of those who say so without measured use":      "Waliozidisha: kati ya wanaosema hivyo, haikupimwa",
	"Under-reported: share of those who do not say so with measured use": "Waliopunguza: kati ya wasiosema hivyo, ilipimwa",
	"Use by all households, corrected":                                   "Matumizi ya kaya zote, yaliyorekebishwa",
	"Cohen's kappa %.2f (95 %%: %.2f to %.2f).":                          "Kappa ya Cohen %.2f (95 %%: %.2f hadi %.2f).",
	"Saving":                                "Akiba",
	"With the old stove (reference)":        "Kwa jiko la zamani (kulinganisha)",
	"With the new stove (intervention)":     "Kwa jiko jipya (mradi)",
	"%s in a day, per %s":                   "%s kwa siku, kwa kila %s",
	"household":                             "kaya",
	"head":                                  "mtu",
	"standard adult":                        "mtu mzima wa kawaida",
	"Mean of kitchen tests, %g %% interval": "Wastani wa majaribio ya jikoni, kipindi cha %g %%",
	"The saving is %.1f %% of what the reference group uses.":                                                                                         "Akiba ni %.1f %% ya matumizi ya kundi la kulinganisha.",
	"Filled dots: the interval does not reach 0, so that the change is more than chance.":                                                             "Nukta zilizojazwa: kipindi hakifiki 0, kwa hiyo badiliko si la bahati tu.",
	"The draw was made elsewhere and was not verified here.":                                                                                          "Uchaguzi ulifanyika kwingine na haukuthibitishwa hapa.",
	"Only one party named the seed of the draw.":                                                                                                      "Upande mmoja tu ulitaja mbegu ya uchaguzi.",
	"Figures are not weighted.":                                                                                                                       "Takwimu hazina uzito.",
	"The systematic draw is treated as a simple random one.":                                                                                          "Uchaguzi wa mpangilio unachukuliwa kama wa bahati nasibu wa kawaida.",
	"Other households make up for those that did not answer, as if these were missing by chance.":                                                     "Kaya ambazo hazikusema kitu zinafidiwa na nyingine, kana kwamba zinakosekana kwa bahati.",
	"A household counts as having answered the question when it chose an option.":                                                                     "Kaya inahesabiwa kuwa imejibu swali pale chaguo linapochaguliwa.",
	"Figures of fewer than 5 households are not shown.":                                                                                               "Takwimu za kaya zisizofika 5 hazionyeshwi.",
	"Dashed line: both agree. Above it, households say more than was measured.":                                                                       "Mstari wa nukta: zote mbili zinasema sawa. Juu yake kaya zinasema zaidi ya kilichopimwa.",
	"%d households: %d say more than was measured, %d less, %d the same":                                                                              "Kaya %d: %d zinasema zaidi ya kilichopimwa, %d pungufu, %d sawa",
	"Interview compared with %s · %d of %d households have both":                                                                                      "Walichosema kwenye mahojiano dhidi ya %s · kaya %d kati ya %d zina vyote viwili",
	"The picture leaves out individual households: a later run took over the pairs, or this key lacks responses:read.":                                "Kaya moja moja hazichorwi: hesabu ya baadaye imechukua jozi hizo, au ufunguo huu hauna responses:read.",
	"The survey has neither a list of households nor their number, so nothing shows which are missing.":                                               "Utafiti hauna orodha ya kaya wala idadi yake, kwa hiyo hakuna anayejua ni nani anayekosekana.",
	"The survey has no list: households came as they answered, and were not drawn.":                                                                   "Utafiti hauna orodha: kaya zilikuja kadiri zilivyojibu, hazikuchaguliwa kwa bahati nasibu.",
	"The list was made by hand: nothing shows that the households were drawn by chance. Draw it here, or record the draw in sampling.drawnElsewhere.": "Orodha ilitengenezwa kwa mkono: hakuna kinachoonyesha kwamba kaya zilichaguliwa kwa bahati nasibu. Ichaguliwe hapa, au rekodi uchaguzi katika sampling.drawnElsewhere.",
}
