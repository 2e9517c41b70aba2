package lookup

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

func surveyProgress(ctx context.Context, s Source, args jsontext.Value) (any, error) {
	var in struct {
		Survey string `json:"survey"`
		Round  int    `json:"round"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	if strings.TrimSpace(in.Survey) == "" {
		return s.newest(ctx)
	}
	found, err := s.Progress(ctx, in.Survey, in.Round)
	if fault.CodeOf(err) != "SURVEY_NOT_FOUND" {
		return found, err
	}
	id, err := s.called(ctx, in.Survey)
	if err != nil {
		return nil, err
	}
	return s.Progress(ctx, id, in.Round)
}

// maxProgress limits how many surveys are reported when none is named.
const maxProgress = 5

// Reached is the progress of a survey, in the most requested figures.
type Reached struct {
	ID        string `json:"survey"`
	Name      string `json:"name"`
	Target    int64  `json:"target"`
	Completed int64  `json:"completed"`
	Verified  int64  `json:"verified"`
	Rejected  int64  `json:"rejected"`
}

// newest returns the progress of the newest active surveys, or of the newest of
// all when none is active.
func (s Source) newest(ctx context.Context) (any, error) {
	out := struct {
		How     string    `json:"how"`
		Surveys []Reached `json:"surveys"`
	}{"complete responses of the newest active surveys", []Reached{}}
	page, err := s.Surveys(ctx, SurveyQuery{Status: "active"})
	if err == nil && len(page.Surveys) == 0 {
		out.How = "no survey is active; the newest ones"
		page, err = s.Surveys(ctx, SurveyQuery{})
	}
	if err != nil {
		return nil, err
	}
	for _, one := range page.Surveys[:min(len(page.Surveys), maxProgress)] {
		found, err := s.Progress(ctx, one.ID, 0)
		if err != nil {
			return nil, err
		}
		figures, err := json.Marshal(found)
		if err != nil {
			return nil, err
		}
		r := Reached{}
		if err := json.Unmarshal(figures, &r); err != nil {
			return nil, err
		}
		r.ID, r.Name = one.ID, one.Name
		out.Surveys = append(out.Surveys, r)
	}
	return out, nil
}

// maxNamed is how many pages of surveys are looked at for a name.
const maxNamed = 20

// named are the ids of the surveys with a name, or else with some words of it.
func (s Source) named(ctx context.Context, name string) ([]string, error) {
	var exact, part []string
	q := SurveyQuery{}
	for range maxNamed {
		page, err := s.Surveys(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, one := range page.Surveys {
			switch {
			case strings.EqualFold(one.Name, strings.TrimSpace(name)):
				exact = append(exact, one.ID)
			case hasWords(one.Name, name):
				part = append(part, one.ID)
			}
		}
		if q.Next = page.Next; !page.More || q.Next == 0 {
			break
		}
	}
	if len(exact) > 0 {
		return exact, nil
	}
	return part, nil
}
