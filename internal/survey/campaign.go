package survey

import (
	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Content is what the maker of a campaign decides.
type Content struct {
	Name               string                 `json:"name,omitzero" example:"Baseline 2026"`
	Description        string                 `json:"description,omitzero"`
	Template           *Flags                 `json:"template,omitzero" doc:"Which parts of the template are asked; sections without a flag are always asked."`
	TemplateID         string                 `json:"templateId,omitzero" minLength:"1" doc:"Id of the template; by default the standard template of the stage." example:"baseline-v1"`
	TemplateVersion    int                    `json:"templateVersion,omitzero" doc:"The version, which stays pinned; by default the newest published one." example:"1"`
	Sections           []string               `json:"sections,omitzero" doc:"Sections to ask, in place of flags; all by default."`
	Methodology        *api.SurveyMethodology `json:"methodology,omitzero"`
	Sampling           *Sampling              `json:"sampling,omitzero"`
	Modes              []string               `json:"modes,omitzero" doc:"How interviews are held: visit, phone, browser, collect, ussd, web, chat, import; visit by default. browser and collect distinguish interviews in the console and in ODK Collect from other visits and calls. The USSD line asks in ussd, and the oracle in chat; web, and any mode that is switched off here, is refused unless HEARTH_SURVEY_CHANNELS says that a system of the operator asks in it."`
	Collectors         []Collector            `json:"collectors,omitzero" doc:"The collectors, at most 500. A plain DID is accepted too."`
	StrictCollectors   bool                   `json:"strictCollectors,omitzero" doc:"Only named collectors may send responses; otherwise others are flagged."`
	Training           *api.SurveyTraining    `json:"training,omitzero"`
	Instructions       form.Text              `json:"instructions,omitzero" doc:"Instructions for the collectors."`
	Languages          []string               `json:"languages,omitzero" doc:"Languages of the interviews; by default those of the template." example:"[\"en\",\"sw\"]"`
	Window             *Window                `json:"window,omitzero"`
	Recurrence         *api.SurveyRecurrence  `json:"recurrence,omitzero"`
	OnePerHousehold    *bool                  `json:"onePerHousehold,omitzero" doc:"At most one response of a household in a round; true by default."`
	Eligibility        *api.SurveyEligibility `json:"eligibility,omitzero"`
	VerificationPolicy *Policy                `json:"verificationPolicy,omitzero"`
	Assignments        []Assignment           `json:"assignments,omitzero" doc:"Who visits which households, at most 500 rules with 1,000 households in all."`
	EntityLists        []EntityList           `json:"entityLists,omitzero" doc:"Lists of twins that forms offer, and whose twins interviews make or change; at most 10."`
	Metadata           form.Object            `json:"metadata,omitzero" doc:"Anything else, kept as it is; 16 KiB."`
}

// Flags select parts of a template.
type Flags struct {
	EligibilityCriteria *bool `json:"eligibilityCriteria,omitzero"`
	SocioEconomicData   *bool `json:"socioEconomicData,omitzero"`
	CookingPatterns     *bool `json:"cookingPatterns,omitzero"`
	StovePerceptions    *bool `json:"stovePerceptions,omitzero"`
}

// SchemaName is the name that clients know it by.
func (Flags) SchemaName() string { return "PlanFlags" }

// choice is one of them by its name.
type choice struct {
	name string
	on   bool
}

func (f *Flags) list() []choice {
	set := func(b *bool) bool { return b != nil && *b }
	return []choice{
		{"eligibilityCriteria", set(f.EligibilityCriteria)},
		{"socioEconomicData", set(f.SocioEconomicData)},
		{"cookingPatterns", set(f.CookingPatterns)},
		{"stovePerceptions", set(f.StovePerceptions)},
	}
}

// Nouns of package api, by their names here.
type (
	Window     = api.SurveyWindow
	Policy     = api.SurveyPolicy
	Schooling  = api.CollectorTraining
	Assignment = api.SurveyAssignment
	Location   = api.Place
	EntityList = api.EntityList
)
