package survey

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
)

// Draft is a campaign as its maker sends it.
type Draft struct {
	SurveyID  string `json:"surveyId,omitzero" doc:"Made by the server when absent: letters, digits, dot, dash and underscore, at most 100." example:"baseline-2026"`
	Type      string `json:"type" doc:"FollowupSurvey and Follow-upSurvey are accepted too." enum:"BaselineSurvey,FollowUpSurvey,MonitoringSurvey" example:"BaselineSurvey"`
	Stage     string `json:"stage,omitzero" doc:"Follows from the type." enum:"baseline,follow-up,monitoring"`
	ProjectID string `json:"projectId" doc:"DID of the project." example:"did:ixo:entity:123"`
	Content
}

// SchemaName is the name that clients know it by.
func (Draft) SchemaName() string { return "PlanDraft" }

// InvalidCode is the code of the fault of a draft.
const (
	InvalidCode = "SURVEY_CONFIGURATION_INVALID"
	invalidText = "The survey configuration is not valid."
)

var (
	surveyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	langTag    = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$`)
	// modes are how answers are collected. browser and collect are said of visits
	// and calls that came through the interview page or ODK Collect.
	modes = []string{"visit", "phone", Browser, Collect, USSD, "web", Chat, "import"}
	// selfService are modes in which the household itself answers, here or where
	// another system asks.
	selfService = []string{USSD, "web", Chat}
)

// Modes that a part of this server asks in.
const (
	Browser = "browser"
	Collect = "collect"
	USSD    = "ussd"
	Chat    = "chat"
)

// Modes returns all modes in which a survey asks or a response is given.
func Modes() []string { return slices.Clone(modes) }

// ChannelSetting names the setting that says in which modes other systems ask.
const ChannelSetting = "HEARTH_SURVEY_CHANNELS"

// CheckServed notes modes in which nobody asks: collectors do in visit, phone,
// browser and collect, files arrive by import, and this server or other systems
// ask in channels. Modes in kept were accepted earlier.
func (d *Content) CheckServed(c *fault.Checks, channels, kept []string) {
	served := slices.DeleteFunc(slices.Clone(modes), func(m string) bool { return slices.Contains(selfService, m) && !slices.Contains(channels, m) })
	for i, mode := range d.Modes {
		if slices.Contains(modes, mode) && !slices.Contains(served, mode) && !slices.Contains(kept, mode) {
			c.Add(fmt.Sprintf("/modes/%d", i), "mode_not_served", fmt.Sprintf("This server does not ask households by %s. It can ask by: %s. If a system of yours asks by %s and sends the responses, add that mode to the setting %s.",
				mode, strings.Join(served, ", "), mode, ChannelSetting))
		}
	}
}

// Validate names every problem that can be seen without a lookup. The fault is
// SURVEY_CONFIGURATION_INVALID.
func (d *Draft) Validate() error {
	var c fault.Checks
	d.Check(&c)
	return Invalid(&c)
}

// Invalid is the fault with the noted problems, at most 100.
func Invalid(c *fault.Checks) error {
	return Limited(c.Err(InvalidCode, invalidText))
}

// Limited limits a fault to as many problems as one answer names.
func Limited(err error) error {
	if f := fault.As(err); f != nil && len(f.Fields) > MaxFields {
		few := *f
		few.Fields = f.Fields[:MaxFields]
		return &few
	}
	return err
}

// Check notes the problems that Validate reports.
func (d *Draft) Check(c *fault.Checks) {
	if d.SurveyID != "" && !surveyName.MatchString(d.SurveyID) {
		c.Add("/surveyId", "invalid", "The value must be letters, digits, dots, dashes and underscores, begin with a letter or digit, and have at most 100.")
	}
	stage := StageOf(d.Type)
	switch {
	case d.Type == "":
		c.Require(false, "/type")
	case stage == "":
		c.Add("/type", "not_allowed", "The value must be one of BaselineSurvey, FollowUpSurvey, MonitoringSurvey.")
	}
	check.OneOf(c, "/stage", d.Stage, StageBaseline, StageFollowUp, StageMonitoring)
	if d.Stage != "" && stage != "" && StageOf(TypeOf(d.Stage)) != stage && TypeOf(d.Stage) != "" {
		c.Add("/stage", "conflict", "The stage of this type is "+stage+".")
	}
	c.Require(d.ProjectID != "", "/projectId")
	CheckDID(c, "/projectId", d.ProjectID)
	d.Content.check(c)
}

// CheckDID notes a text that is not a DID; an empty one passes.
func CheckDID(c *fault.Checks, pointer, value string) {
	if value != "" && !did.Valid(value) {
		c.Add(pointer, "invalid", "The value must be a DID.")
	}
}

func (d *Content) check(c *fault.Checks) {
	check.Short(c, "/name", d.Name, MaxName)
	check.Short(c, "/description", d.Description, maxDescription)
	d.checkTemplate(c)
	if m := d.Methodology; m != nil {
		c.Require(m.ID != "", "/methodology/id")
		check.Short(c, "/methodology/id", m.ID, MaxName)
		check.Short(c, "/methodology/version", m.Version, MaxName)
		check.Short(c, "/methodology/claimType", m.ClaimType, MaxName)
	}
	d.Sampling.check(c)
	names(c, "/modes", d.Modes, len(modes), func(at, mode string) { required(c, at, mode, modes) })
	checkCollectors(c, "/collectors", d.Collectors)
	d.checkMethod(c)
	d.checkTimes(c)
	if e := d.Eligibility; e != nil {
		c.Require(e.Expression != "", "/eligibility/expression")
		check.Short(c, "/eligibility/expression", e.Expression, MaxExpression)
	}
	checkPolicy(d.VerificationPolicy, c)
	checkAssignments(c, "/assignments", d.Assignments, d.Sampling)
	checkLists(c, "/entityLists", d.EntityLists)
	if !d.Metadata.IsZero() && (d.Metadata.Kind() != '{' || len(d.Metadata.Value) > maxMetadata) {
		c.Add("/metadata", "invalid", "The value must be an object of at most 16 KiB.")
	}
}

// checkTemplate checks what is asked, as far as possible without the template.
func (d *Content) checkTemplate(c *fault.Checks) {
	c.Require(d.Template != nil || d.TemplateID != "", "/template")
	if d.Template != nil {
		if !slices.ContainsFunc(d.Template.list(), func(f choice) bool { return f.on }) {
			c.Add("/template", "nothing_selected", "At least one flag must be true.")
		}
		if len(d.Sections) > 0 {
			c.Add("/sections", "conflict", "Give flags or sections, not both.")
		}
	}
	if d.TemplateVersion < 0 {
		c.Add("/templateVersion", "out_of_range", "The value must be 1 or more.")
	}
	names(c, "/sections", d.Sections, maxSections, func(at, one string) { c.Require(one != "", at) })
}

// checkMethod looks at how answers are collected.
func (d *Content) checkMethod(c *fault.Checks) {
	if t := d.Training; t != nil {
		check.Short(c, "/training/summary", t.Summary, maxDescription)
		names(c, "/training/materials", t.Materials, maxMaterials, func(at, one string) { check.Short(c, at, one, maxNote) })
	}
	for _, tag := range d.Instructions.Languages() {
		if tag != "" && !langTag.MatchString(tag) {
			c.Add("/instructions", "invalid", "The members must be language tags such as en or sw-KE.")
		}
		check.Short(c, "/instructions", d.Instructions[tag], maxDescription)
	}
	if len(d.Instructions) > maxLanguages+1 {
		c.Add("/instructions", "too_many", fmt.Sprintf("There may be at most %d languages.", maxLanguages))
	}
	names(c, "/languages", d.Languages, maxLanguages, func(at, tag string) {
		if !langTag.MatchString(tag) {
			c.Add(at, "invalid", "The value must be a language tag such as en or sw-KE.")
		}
	})
}

func (d *Content) checkTimes(c *fault.Checks) {
	CheckWindow(d.Window, c, "/window")
	if r := d.Recurrence; r != nil {
		if r.Every < 1 || r.Every > 366 {
			c.Add("/recurrence/every", "out_of_range", "The value must be 1 to 366.")
		}
		required(c, "/recurrence/unit", r.Unit, []string{"day", "week", "month", "year"})
	}
}

// CheckWindow notes what is wrong with a window.
func CheckWindow(w *Window, c *fault.Checks, at string) {
	if w == nil {
		return
	}
	check.Years(c, at+"/start", w.Start, 1900, 9000)
	check.Years(c, at+"/end", w.End, 1900, 9000)
	if !w.Start.IsZero() && !w.End.IsZero() && !w.End.After(w.Start) {
		c.Add(at+"/end", "out_of_range", "The end must be after the start.")
	}
}

func checkPolicy(p *Policy, c *fault.Checks) {
	if p == nil {
		return
	}
	check.OneOf(c, "/verificationPolicy/mode", p.Mode, "manual", "auto")
	if p.MinReviewers < 0 || p.MinReviewers > 2 {
		c.Add("/verificationPolicy/minReviewers", "out_of_range", "The value must be 1 or 2.")
	}
	if p.Mode == "auto" && p.MinReviewers == 2 {
		c.Add("/verificationPolicy/minReviewers", "conflict", "Two reviewers are not possible when the server itself verifies.")
	}
	names(c, "/verificationPolicy/autoRules", p.AutoRules, maxAutoRules, func(at, one string) {
		// A name that no check has would let everything pass.
		required(c, at, one, flag.Names())
	})
}

// names checks a list of texts: how many, none twice, and each by one.
func names(c *fault.Checks, at string, list []string, most int, one func(at, text string)) {
	if len(list) > most {
		c.Add(at, "too_many", fmt.Sprintf("There may be at most %d.", most))
		return
	}
	seen := make(map[string]bool, len(list))
	for i, text := range list {
		here := fmt.Sprintf("%s/%d", at, i)
		if seen[text] {
			c.Add(here, "duplicate", "This value is already in the list.")
		}
		seen[text] = true
		one(here, text)
	}
}

// PolicyWithDefaults fills in the defaults of a policy; nil means all defaults.
func PolicyWithDefaults(p *Policy) Policy {
	out := Policy{}
	if p != nil {
		out = *p
	}
	if out.Mode == "" {
		out.Mode = "manual"
	}
	out.MinReviewers = max(out.MinReviewers, 1)
	return out
}

// SelfService reports whether households answer for themselves in one of the
// modes.
func (d *Content) SelfService() bool {
	return slices.ContainsFunc(d.Modes, func(m string) bool { return slices.Contains(selfService, m) })
}
