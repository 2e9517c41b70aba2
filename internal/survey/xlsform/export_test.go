package xlsform

import "strings"

// WrittenColumns are our own columns of all sheets.
func WrittenColumns() map[string]bool {
	out := map[string]bool{}
	for sheet, order := range map[string][]string{"survey": surveyOrder, "choices": choicesOrder, "settings": settingsOrder, "entities": entitiesOrder} {
		for _, name := range order {
			if more := strings.TrimRight(name, "0123456789"); strings.HasPrefix(name, "hearth_") && more == name {
				out[sheet+" "+name] = true
			}
		}
	}
	return out
}
