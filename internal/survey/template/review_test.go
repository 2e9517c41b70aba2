package template_test

import (
	"context"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
)

func draftOption(value, label string) form.Option {
	return form.Option{Value: value, Label: form.Plain(label)}
}

func day(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

// A review is due so long after the publication or the last review, whichever
// is later.
func TestReviewIsDue(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		now := day(0)
		e := newEnv(t, d, func(c *template.Config) {
			c.Now = func() time.Time { return now }
			c.Since = func(_ context.Context, _ db.Querier, ws string) (time.Time, error) {
				if ws == "new" {
					return day(100), nil
				}
				return day(0), nil
			}
		})
		want := func(what, ws, id string, due time.Time) {
			t.Helper()
			for at, overdue := range map[time.Time]bool{due.Add(-time.Hour): false, due.Add(time.Hour): !due.IsZero()} {
				s, err := e.s.Review(t.Context(), d, ws, id, at)
				if err != nil || !s.Due.Equal(due) || s.Overdue != overdue {
					t.Errorf("%s: at %s due %s, overdue %v, %v; want %s, %v", what, at, s.Due, s.Overdue, err, due, overdue)
				}
			}
		}
		review := func(ws, id string, r template.ReviewDraft) {
			t.Helper()
			r.Findings, r.Decision = "f", "keep"
			if _, err := e.s.AddReview(owner(t, ws), id, r); err != nil {
				t.Fatal(err)
			}
		}
		want("shipped", "ws", "baseline-v1", day(365))
		want("shipped, in a new workspace", "new", "baseline-v1", day(465))
		text := draft(t, seed("t"))
		text.ReviewIntervalDays = 30
		if _, err := e.s.Create(owner(t, "ws"), text); err != nil {
			t.Fatal(err)
		}
		want("a draft", "ws", "t", time.Time{})
		e.release(t, "ws", "t")
		want("published", "ws", "t", day(30))
		now = day(10)
		review("ws", "t", template.ReviewDraft{})
		want("reviewed", "ws", "t", day(40))
		review("ws", "t", template.ReviewDraft{ReviewedAt: day(5), NextReviewInDays: 300})
		want("an earlier review told later", "ws", "t", day(40))
		now = day(12)
		review("ws", "t", template.ReviewDraft{NextReviewInDays: 5})
		want("sooner", "ws", "t", day(17))
		now = day(20)
		e.next(t, "ws", seed("t"))
		want("a new draft", "ws", "t", day(17))
		e.release(t, "ws", "t")
		want("a new version", "ws", "t", day(385))
		review("ws", "baseline-v1", template.ReviewDraft{ReviewedAt: day(2)})
		want("shipped, reviewed", "ws", "baseline-v1", day(367))
		want("shipped, not reviewed here", "new", "baseline-v1", day(465))
		s, err := e.s.Review(t.Context(), d, "ws", "t", now)
		if err != nil || s.Last == nil || s.Last.Reviewer != "did:key:owner" || s.Last.Version != 1 || !s.Last.ReviewedAt.Equal(day(12)) || !s.Last.NextDue.Equal(day(17)) {
			t.Errorf("last review = %+v, %v", s.Last, err)
		}
		if _, err := e.s.Review(t.Context(), d, "other", "t", now); fault.CodeOf(err) != "TEMPLATE_NOT_FOUND" {
			t.Errorf("in another workspace = %v", err)
		}
	})
}

// Without a beginning of the workspace a shipped template is due by its
// reviews only.
func TestReviewOfShippedWithoutSince(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	e := newEnv(t, d)
	s, err := e.s.Review(t.Context(), d, "ws", "baseline-v1", day(9999))
	if err != nil || s.Overdue || !s.Due.IsZero() || s.Last != nil {
		t.Errorf("state = %+v, %v, want nothing due", s, err)
	}
}
