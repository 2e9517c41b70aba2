package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/test/server"
)

// How much more CPU a submission of ODK Collect may cost than the same interview as
// JSON, and a list of forms than a file of its size.
const (
	collectBar = 1.5
	formsBar   = 2.0
	benchForms = 50
)

// phone makes the requests of a phone with ODK Collect.
type phone struct{ secret, collector string }

// newPhone makes a phone with its own address.
func newPhone(ctx context.Context, c *server.Client) (phone, error) {
	a, err := post(ctx, c, "/v1/collect/addresses", `{"name":"bench","origin":"http://bench"}`)
	if err != nil {
		return phone{}, err
	}
	var made struct {
		URL       string `json:"url"`
		Collector string `json:"collector"`
	}
	err = a.JSON(&made)
	return phone{made.URL[strings.LastIndexByte(made.URL, '/')+1:], made.Collector}, err
}

// survey starts a survey that the phone collects for.
func (p phone) survey(ctx context.Context, c *server.Client, id string) error {
	body := strings.ReplaceAll(strings.Replace(benchSurvey, `"surveyId":"bench"`, `"surveyId":"`+id+`"`, 1), "did:ixo:agent/123", p.collector)
	if _, err := post(ctx, c, "/v1/surveys", body); err != nil {
		return err
	}
	_, err := post(ctx, c, "/v1/surveys/"+id+"/activate", `{}`)
	return err
}

// submission returns the interview of answer as ODK Collect sends it.
func (p phone) submission(n int, at time.Time) []byte {
	const mark = "bench-boundary"
	body := fmt.Sprintf("--"+mark+"\r\nContent-Disposition: form-data; name=\"xml_submission_file\"; filename=\"a.xml\"\r\nContent-Type: text/xml\r\n\r\n"+
		`<data id="bench" version="2"><hearth_meta_start>%s</hearth_meta_start><hearth_meta_end>%s</hearth_meta_end><hearth_household>did:ixo:household/%d</hearth_household>`+
		`<consent><consent_given>true</consent_given><respondent_is_main_cook>true</respondent_is_main_cook><language>sw</language><carbon_rights_waiver>true</carbon_rights_waiver></consent>`+
		`<eligibility><current_cooking>wood charcoal</current_cooking><target_area>true</target_area><household_in_other_programme>false</household_in_other_programme>`+
		`<owns_target_device>false</owns_target_device><baseline_stove_type>three_stone</baseline_stove_type><willing_to_participate>true</willing_to_participate></eligibility>`+
		`<socio_economic><household_size>%d</household_size><children_under_5>%d</children_under_5><income_band>low</income_band><housing_type>mud</housing_type>`+
		`<head_education>primary</head_education><density>medium</density></socio_economic><meta><instanceID>uuid:%09d</instanceID></meta></data>`+"\r\n--"+mark+"--\r\n",
		at.UTC().Add(-15*time.Minute).Format(time.RFC3339Nano), at.UTC().Format(time.RFC3339Nano), n, n%12+1, n%3, n)
	return fmt.Appendf(nil, "POST /v1/openrosa/%s/submission HTTP/1.1\r\nHost: bench\r\nContent-Type: multipart/form-data; boundary="+mark+"\r\nContent-Length: %d\r\n\r\n%s", p.secret, len(body), body)
}

// collects compares the requests of phones with ODK Collect with the same ones as
// plain JSON and files.
func (b *bench) collects(ctx context.Context) error {
	fmt.Printf("%-26s %9s %9s %7s %9s %9s\n", "route", "per s", "bound/s", "ratio", "CPU µs", "bound")
	var count atomic.Int64
	opened := time.Now()
	send := b.phoneSide(1, func(p phone) []byte { return p.submission(int(count.Add(1)), opened) })
	if err := b.costCell(ctx, "a submission", collectBar, send, b.submitSide()); err != nil {
		return err
	}
	list := b.phoneSide(benchForms, func(p phone) []byte { return request("GET", "/v1/openrosa/"+p.secret+"/formList", "", "") })
	return b.costCell(ctx, fmt.Sprintf("formList of %d", benchForms), formsBar, list, b.bareLoad("file", entityConns, request("GET", "/pages/twin.js", server.OwnerKey, "")))
}

// phoneSide simulates a phone that has this many forms.
func (b *bench) phoneSide(forms int, next func(p phone) []byte) opener {
	return func(ctx context.Context) (side, error) {
		s, err := b.start()
		if err != nil {
			return nil, err
		}
		c := s.Client(1)
		defer c.Close()
		p, err := newPhone(ctx, c)
		for i := 0; err == nil && i < forms; i++ {
			id := "bench"
			if i > 0 {
				id = fmt.Sprintf("bench%d", i)
			}
			err = p.survey(ctx, c, id)
		}
		if err != nil {
			return nil, errors.Join(err, s.Kill())
		}
		return hearthLoad(s, entityConns, func(int) []byte { return next(p) })
	}
}

// costCell compares the CPU of both sides with the bar.
func (b *bench) costCell(ctx context.Context, name string, bar float64, ours, bound opener) error {
	p, err := b.pair(ctx, ours, bound)
	if err != nil {
		return err
	}
	ratio := p.ratio(sample.cost)
	fmt.Printf("%-26s %9.0f %9.0f %7.2f %9.1f %9.1f   bar %.2f %s\n", name, medianOf(p.ours, sample.rate), medianOf(p.bound, sample.rate), ratio,
		medianOf(p.ours, sample.cost), medianOf(p.bound, sample.cost), bar, b.verdict(name, ratio <= bar))
	return nil
}
