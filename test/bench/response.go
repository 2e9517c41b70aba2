package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/test/server"
)

// submitBar is the share of the bound's rate that sending a response must
// reach.
const submitBar = 0.35

// benchSurvey takes responses of any household.
const benchSurvey = `{"surveyId":"bench","type":"BaselineSurvey","projectId":"did:ixo:entity:123","template":{"eligibilityCriteria":true,"socioEconomicData":true},` +
	`"sampling":{"method":"simple_random","size":100,"confidence":0.95,"enrolment":"open"},"collectors":["did:ixo:agent/123"]}`

// answer returns a whole interview of about 850 bytes with a new household. No check
// flags it: its time is after the start of the survey.
func answer(n int, at time.Time) string {
	return fmt.Sprintf(`{"responseId":"resp_%09d","surveyId":"bench","householdId":"did:ixo:household/%d","timestamp":%q,`+
		`"collector":"did:ixo:agent/123","startedAt":%q,"language":"sw","responses":{`+
		`"consent":{"consent_given":true,"respondent_is_main_cook":true,"language":"sw","carbon_rights_waiver":true},`+
		`"eligibility":{"current_cooking":["wood","charcoal"],"target_area":true,"household_in_other_programme":false,"owns_target_device":false,`+
		`"baseline_stove_type":"three_stone","willing_to_participate":true},`+
		`"socio_economic":{"household_size":%d,"children_under_5":%d,"income_band":"low","housing_type":"mud","head_education":"primary","density":"medium"}}}`,
		n, n, at.UTC().Format(time.RFC3339Nano), at.UTC().Add(-15*time.Minute).Format(time.RFC3339Nano), n%12+1, n%3)
}

// submits compares a response, checked, stored once and counted, with one row
// of the same bytes behind a hand-written group commit, see durableCell.
func (b *bench) submits(ctx context.Context) error {
	fmt.Printf("%-26s %9s %9s %7s %9s %9s\n", "route", "per s", "bound/s", "ratio", "CPU µs", "bound")
	return b.durableCell(ctx, "POST …/responses", submitBar, b.submitSide(), answer(1, time.Now()))
}

// submitSide sends responses.
func (b *bench) submitSide() opener {
	var count atomic.Int64
	return func(ctx context.Context) (side, error) {
		s, err := b.start()
		if err != nil {
			return nil, err
		}
		if err := openSurvey(ctx, s); err != nil {
			return nil, errors.Join(err, s.Kill())
		}
		opened := time.Now()
		return hearthLoad(s, b.conns(), func(int) []byte {
			return request("POST", "/v1/surveys/bench/responses", s.Key, answer(int(count.Add(1)), opened))
		})
	}
}

// openSurvey starts the survey that takes the responses.
func openSurvey(ctx context.Context, s *server.Server) error {
	c := s.Client(1)
	defer c.Close()
	return startSurvey(ctx, c)
}

func startSurvey(ctx context.Context, c *server.Client) error {
	if _, err := post(ctx, c, "/v1/surveys", benchSurvey); err != nil {
		return err
	}
	_, err := post(ctx, c, "/v1/surveys/bench/activate", `{}`)
	return err
}
