package surveytest_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/export"
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/quality"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/survey/verify"
)

// TestClientKnowsEveryMember: what the server sends, the Go client has a field
// for.
func TestClientKnowsEveryMember(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]any{
		{survey.Survey{}, client.Survey{}},
		{survey.Report{}, client.SurveyReport{}},
		{survey.Revision{}, client.SurveyRevision{}},
		{survey.RoundList{}, client.SurveyRounds{}},
		{survey.CollectorList{}, client.CollectorList{}},
		{survey.AssignmentList{}, client.AssignmentList{}},
		{survey.Household{}, client.ListedHousehold{}},
		{survey.Merged{}, client.MergedHouseholds{}},
		{response.Record{}, client.Response{}},
		{response.Draft{}, client.ResponseDraft{}},
		{response.Revision{}, client.ResponseRevision{}},
		{intake.Results{}, client.ResponseBatch{}},
		{intake.Clash{}, client.ResponseConflict{}},
		{media.Info{}, client.Attachment{}},
		{verify.Decision{}, client.Decision{}},
		{verify.State{}, client.ResponseState{}},
		{verify.Outcome{}, client.BulkOutcome{}},
		{verify.Evidence{}, client.Evidence{}},
		{quality.Report{}, client.QualityReport{}},
		{quality.RuleRecord{}, client.QualityRuleRecord{}},
		{quality.FlagRecord{}, client.QualityFlag{}},
		{quality.Draw{}, client.Draw{}},
		{quality.BackCheck{}, client.BackCheck{}},
		{export.Draft{}, client.SurveyExportDraft{}},
		{export.Export{}, client.SurveyExport{}},
		{export.Codebook{}, client.Codebook{}},
		{template.Version{}, client.Template{}},
		{template.Summary{}, client.TemplateSummary{}},
		{template.VersionList{}, client.TemplateVersions{}},
		{template.ReviewPage{}, client.TemplateReviews{}},
		{template.Diff{}, client.TemplateDiff{}},
		{template.Preview{}, client.Preview{}},
	} {
		from, to := reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1])
		for _, name := range lacks(from, to, "", map[reflect.Type]bool{}) {
			t.Errorf("%v: client.%s lacks %s", from, to.Name(), name)
		}
	}
}

// lacks lists the members of from, and of what is in it, that to has not. A
// type in seen was looked at: some hold themselves.
func lacks(from, to reflect.Type, at string, seen map[reflect.Type]bool) []string {
	from, to = element(from), element(to)
	if from.Kind() != reflect.Struct || to.Kind() != reflect.Struct || opaque(from) || seen[from] {
		return nil
	}
	seen[from] = true
	have := members(to)
	var out []string
	for name, typ := range members(from) {
		if other, ok := have[name]; !ok {
			out = append(out, at+"/"+name)
		} else {
			out = append(out, lacks(typ, other, at+"/"+name, seen)...)
		}
	}
	return out
}

// element is what a pointer, a list or a map holds.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

// opaque reports whether a type writes itself.
func opaque(t reflect.Type) bool {
	for _, name := range []string{"MarshalJSON", "MarshalJSONTo", "MarshalText"} {
		if _, ok := reflect.PointerTo(t).MethodByName(name); ok {
			return true
		}
	}
	return false
}

// members are those of a struct in JSON.
func members(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("json")
		name, _, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && name == "" && element(f.Type).Kind() == reflect.Struct:
			for name, typ := range members(element(f.Type)) {
				out[name] = typ
			}
		case f.IsExported() && tagged && name != "-" && name != "":
			out[name] = f.Type
		}
	}
	return out
}
