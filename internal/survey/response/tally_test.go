package response_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

func TestClass(t *testing.T) {
	t.Parallel()
	answered := func(change func(*response.Unit)) response.Unit {
		u := response.Unit{Responded: true, Status: response.Complete, VStatus: response.Pending, Typed: response.Typed}
		change(&u)
		return u
	}
	verdict := func(v string) response.Unit { return answered(func(u *response.Unit) { u.VStatus = v }) }
	status := func(s response.Status) response.Unit { return answered(func(u *response.Unit) { u.Status = s }) }
	for _, tt := range []struct {
		name           string
		unit           response.Unit
		class, checked response.Class // checked: where only what is verified counts
	}{
		{"complete", verdict(response.Pending), response.Counted, response.ClassUnverified},
		{"in review", verdict(response.InReview), response.Counted, response.ClassUnverified},
		{"to be corrected", verdict(response.NeedsCorrection), response.Counted, response.ClassUnverified},
		{"flagged", verdict(response.Flagged), response.Counted, response.ClassUnverified},
		{"disputed", verdict(response.Disputed), response.Counted, response.ClassUnverified},
		{"verified", verdict(response.Verified), response.Counted, response.Counted},
		{"rejected", verdict(response.Rejected), response.ClassRejected, response.ClassRejected},
		{"invalidated", verdict(response.Invalidated), response.ClassInvalidated, response.ClassInvalidated},
		{"superseded", verdict(response.Superseded), response.Replaced, response.Replaced},
		{"partial", status(response.Partial), response.ClassPartial, response.ClassPartial},
		{"refused", status(response.Refused), response.ClassRefused, response.ClassRefused},
		{"redacted", status(response.Redacted), response.ClassRedacted, response.ClassRedacted},
		{"redacted after it was rejected", answered(func(u *response.Unit) { u.Status, u.VStatus = response.Redacted, response.Rejected }), response.ClassRedacted, response.ClassRedacted},
		{"erased", answered(func(u *response.Unit) { u.Typed = response.Rowless }), response.ClassErased, response.ClassErased},
		{"from before there were rows", answered(func(u *response.Unit) { u.Typed = response.Untyped }), response.Counted, response.ClassUnverified},
		{"not eligible", answered(func(u *response.Unit) { u.Unfit = true }), response.Ineligible, response.Ineligible},
		{"not eligible, and ended there", answered(func(u *response.Unit) { u.Unfit, u.Status = true, response.Partial }), response.Ineligible, response.Ineligible},
		{"not eligible, and rejected", answered(func(u *response.Unit) { u.Unfit, u.VStatus = true, response.Rejected }), response.ClassRejected, response.ClassRejected},
		{"off the list", answered(func(u *response.Unit) { u.Unlisted = true }), response.OffList, response.OffList},
		{"replaced, off the list", answered(func(u *response.Unit) { u.Unlisted, u.VStatus = true, response.Superseded }), response.Replaced, response.Replaced},
		{"listed", response.Unit{Outcome: "listed"}, response.ClassSilent, response.ClassSilent},
		{"contacted", response.Unit{Outcome: "contacted"}, response.ClassSilent, response.ClassSilent},
		{"not reached", response.Unit{Outcome: "unreachable"}, response.ClassUnreachable, response.ClassUnreachable},
		{"refused at the door", response.Unit{Outcome: "refused"}, response.ClassRefused, response.ClassRefused},
		{"not eligible at the door", response.Unit{Outcome: "ineligible"}, response.Ineligible, response.Ineligible},
	} {
		if got := tt.unit.Class(false); got != tt.class {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.class)
		}
		if got := tt.unit.Class(true); got != tt.checked {
			t.Errorf("%s, verified only: %s, want %s", tt.name, got, tt.checked)
		}
	}
}

func TestClassSays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		class            response.Class
		sampled, answers bool
	}{
		{response.Counted, true, true},
		{response.Ineligible, true, true},
		{response.ClassRefused, true, false},
		{response.ClassErased, true, false},
		{response.OffList, false, false},
		{response.Replaced, false, false},
	} {
		if tt.class.Sampled() != tt.sampled || tt.class.Answers() != tt.answers {
			t.Errorf("%s: sampled %t, answers %t", tt.class, tt.class.Sampled(), tt.class.Answers())
		}
	}
	if !response.Counted.Stronger(response.ClassRejected) || response.ClassRejected.Stronger(response.Counted) || response.Replaced.Stronger(response.ClassRejected) ||
		!response.Counted.Stronger(response.ClassPartial) {
		t.Error("the newest response that was not taken back speaks for its household")
	}
}

func TestTallyWords(t *testing.T) {
	t.Parallel()
	some := response.Tally{
		response.Counted: 80, response.Ineligible: 5, response.ClassRefused: 4, response.ClassUnreachable: 3, response.ClassUnverified: 8, response.OffList: 2, response.Replaced: 9,
	}
	for _, tt := range []struct {
		tally    response.Tally
		verified bool
		want     string
	}{
		{response.Tally{}, false, "0 of 0 households count: complete and not rejected, invalidated, replaced, redacted or erased."},
		{response.Tally{response.Counted: 7}, false, "7 of 7 households count: complete and not rejected, invalidated, replaced, redacted or erased."},
		{some, true, "80 of 100 households count: verified, complete and not rejected, invalidated, replaced, redacted or erased. " +
			"Not eligible, and excluded from the figure with their weight: 5. No answer that counts: 15 (4 refused, 3 were not reached, 8 are not verified). " +
			"Responses of households that are not on the list, counted separately: 2."},
	} {
		if got := tt.tally.Words(tt.verified); got != tt.want {
			t.Errorf("Words() = %s\nwant      %s", got, tt.want)
		}
	}
}

// A drawn household and those that stand in for it fill one place of the sample.
func TestInSurplus(t *testing.T) {
	t.Parallel()
	homes := []survey.Sampled{{HouseholdID: "a"}, {HouseholdID: "b", Replaces: "a"}, {HouseholdID: "c", Replaces: "b"}, {HouseholdID: "d"}, {HouseholdID: "late", Replaces: "gone"}}
	for _, tt := range []struct {
		a, b, c response.Class
		want    string
	}{
		{response.ClassRefused, response.ClassUnreachable, response.Counted, ""},
		{response.Counted, response.Counted, response.Counted, "bc"},
		{response.Counted, response.ClassSilent, response.ClassSilent, "bc"},
		{response.ClassRefused, response.Counted, response.Counted, "c"},
		{response.Ineligible, response.Counted, response.ClassSilent, "c"},
		{response.Ineligible, response.Ineligible, response.Counted, ""},
		{response.ClassUnverified, response.Counted, response.ClassSilent, "c"},
	} {
		by := map[string]response.Class{"a": tt.a, "b": tt.b, "c": tt.c, "d": response.Counted, "late": response.Counted}
		got := response.InSurplus(homes, func(id string) response.Class { return by[id] })
		if words := strings.Join(slices.Sorted(maps.Keys(got)), ""); words != tt.want {
			t.Errorf("%s, %s, %s: surplus %q, want %q", tt.a, tt.b, tt.c, words, tt.want)
		}
	}
	if response.Surplus.Sampled() {
		t.Error("a surplus replacement is part of the sample")
	}
}
