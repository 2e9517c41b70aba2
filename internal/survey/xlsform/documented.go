package xlsform

import (
	"maps"
	"slices"
)

// Column is a column of a workbook that XLSForm does not have. docs/xlsform.md is
// generated from them.
type Column struct{ Sheet, Name, About string }

// HearthColumns are the columns for what XLSForm has no column for, sheet by
// sheet in the order in which they are written.
func HearthColumns() []Column {
	return []Column{
		{"survey", "hearth_type", "The type of a question that XLSForm does not have: `consent`, `boolean`, `number`, `rating`, `matrix`, `quantity`, `household_ref`, `entity_ref`. `none` marks a question that looks like the consent but is not"},
		{"survey", "hearth_name", "The name of the question in another program, when several groups of a section had its name"},
		{"survey", "hearth_label", "`none`: the question has no label, and the column label has its name"},
		{"survey", "hearth_value", "The value of a row of a matrix whose name XLSForm does not accept"},
		{"survey", "hearth_flag", "The survey flag that selects the section: `eligibilityCriteria`, `socioEconomicData`, `cookingPatterns`, `stovePerceptions`"},
		{"survey", "hearth_required", "CEL that decides whether an answer is required; `always!` for a group"},
		{"survey", "hearth_relevant", "CEL that decides whether the question is asked. It applies as long as the column relevant is unchanged"},
		{"survey", "hearth_constraint", "CEL that must be true for an answer"},
		{"survey", "hearth_calculate", "CEL that gives the value of a calculation"},
		{"survey", "hearth_once", "`true`: the value is calculated when the response is first stored, and a correction keeps it, as with `once()`"},
		{"survey", "hearth_choiceFilter", "CEL that decides which choices are offered; `choice` is the choice with its columns"},
		{"survey", "hearth_default", "The default answer as JSON"},
		{"survey", "hearth_min", "Smallest number"},
		{"survey", "hearth_max", "Largest number"},
		{"survey", "hearth_step", "Distance between numbers"},
		{"survey", "hearth_regex", "Regular expression that the whole of a text must match"},
		{"survey", "hearth_maxLength", "Largest number of characters of a text"},
		{"survey", "hearth_minSelections", "Smallest number of choices"},
		{"survey", "hearth_maxSelections", "Largest number of choices"},
		{"survey", "hearth_minRepeats", "Smallest number of elements of a repeat"},
		{"survey", "hearth_maxRepeats", "Largest number of elements of a repeat, at most 200"},
		{"survey", "hearth_unit", "Unit of a number, for people"},
		{"survey", "hearth_units", "Units that a quantity may have, separated by commas"},
		{"survey", "hearth_dontKnow", "`true`: not knowing is an answer"},
		{"survey", "hearth_refuse", "`true`: refusing is an answer"},
		{"survey", "hearth_pii", "Whether the answer identifies a person: `none`, `direct` (a name, a telephone number, the number of a card, a signature) or `indirect` (a place, a photo, a birthday)"},
		{"survey", "hearth_indicators", "Indicators that the answer feeds, separated by commas, as in `SDG7.1.2`"},
		{"survey", "hearth_backCheckClass", "How stable the answer is, for back-checks: `1` never changes, `2` should not change, `3` may change"},
		{"survey", "hearth_exclusive", "For a row of a matrix, as in the sheet choices"},
		{"survey", "hearth_score", "For a row of a matrix, as in the sheet choices"},
		{"choices", "hearth_value", "The value of a choice whose name XLSForm does not accept"},
		{"choices", "hearth_label", "`none`: the choice has no label, and the column label has its name"},
		{"choices", "hearth_exclusive", "`true`: it can only be chosen alone"},
		{"choices", "hearth_score", "A number that the choice represents"},
		{"entities", "hearth_label", "CEL that gives the name of the twin"},
		{"entities", "hearth_id", "CEL that gives the DID of the twin that changes"},
		{"entities", "hearth_create", "CEL that decides whether a twin is made"},
		{"entities", "hearth_update", "CEL that decides whether the twin changes"},
		{"settings", "hearth_format", "`1`: this server wrote the workbook"},
		{"settings", "hearth_title", "The title, with a column for each language"},
		{"settings", "hearth_description", "What the form is for, with a column for each language"},
		{"settings", "hearth_stage", "`baseline`, `follow-up` or `monitoring`"},
		{"settings", "hearth_defaultLanguage", "The default language as a tag, as in `sw`"},
		{"settings", "hearth_languages", "Languages that the texts should have, as tags separated by commas"},
		{"settings", "hearth_requiredSections", "Sections that need an answer, separated by commas"},
		{"settings", "hearth_completionThreshold", "Share of the asked questions that a complete response answers, from 0 to 1"},
		{"settings", "hearth_consentOptional", "`true`: a response without an answer to the consent question may be complete"},
		{"settings", "hearth_files", "CSV files that expressions of the form name, separated by commas"},
		{"settings", "hearth_reviewIntervalDays", "Number of days after which the questions are assessed again"},
		{"settings", "hearth_metadata", "Anything else, as a JSON object; `hearth_metadata2` to `hearth_metadata4` continue when a cell is full"},
	}
}

// Functions are the functions of XLSForm that expressions may call.
func Functions() []string {
	all := slices.Collect(maps.Keys(calls))
	all = append(all, "count-if", "current", "indexed-repeat", "instance", "join-if", "jr:choice-name", "max-if", "min-if", "position", "pulldata", "sum-if")
	slices.Sort(all)
	return slices.Compact(all)
}
