package app

import (
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/bus"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
	"github.com/hearth-dmrv/hearth/internal/entity/link"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/survey/vault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// surveys is area B.
type surveys struct {
	templates *template.Service
	surveys   *survey.Service
	vault     *vault.Vault
	responses *response.Service
}

// Topics that tell that a template or a survey of a workspace has changed.
const (
	topicTemplates = "templates"
	topicSurveys   = "surveys"
)

// buildSurveys makes the services of area B, lowest first.
func (a *App) buildSurveys(ctx context.Context) {
	s := &surveys{vault: vault.New(vault.Config{Key: a.Key})}
	s.templates = template.New(template.Config{
		DB: a.DB, Events: a.Events, Idem: a.Idem, Cursors: a.cursors, Since: a.beginOf,
		Changed: func(ws string) { a.publish(ctx, topicTemplates, ws) },
	})
	s.surveys = survey.New(survey.Config{
		DB: a.DB, Templates: s.templates, Events: a.Events, Idem: a.Idem, Cursors: a.cursors, Project: projectOf,
		StrictRefs: a.cfg.Server.StrictRefs, Changed: func(ws string) { a.publish(ctx, topicSurveys, ws) },
	})
	s.responses = response.New(response.Config{
		DB: a.DB, Surveys: s.surveys, Vault: s.vault, Events: a.Events, Idem: a.Idem, Cursors: a.cursors, Key: a.Key, Log: a.log,
		Self: a.identity.DID.String(),
	})
	for topic, cache := range map[string]interface {
		Flush()
		Forget(ws string)
	}{topicTemplates: s.templates, topicSurveys: s.surveys} {
		a.Bus.Subscribe(topic, func(m bus.Message) {
			if m.Missed {
				cache.Flush()
				return
			}
			cache.Forget(m.Payload)
		})
	}
	a.surveys = s
}

// projectOf tells what area A knows of a DID.
func projectOf(ctx context.Context, q db.Querier, ws, did string) (held, isProject bool, err error) {
	end, err := link.FindEnd(ctx, q, ws, did)
	if err != nil || end == nil {
		return false, false, err
	}
	return true, end.DomainType == "project", nil
}

// beginOf is when a workspace was made.
func (a *App) beginOf(ctx context.Context, _ db.Querier, ws string) (time.Time, error) {
	w, err := a.Auth.GetWorkspace(ctx, ws)
	if err != nil {
		return time.Time{}, err
	}
	return w.CreatedAt, nil
}

// routes enters area B into a table.
func (s *surveys) routes(api *web.API) {
	s.templates.Routes(api)
	s.surveys.Routes(api)
	s.responses.Routes(api)
}

// erasers are what area B does to forget a household.
func (s *surveys) erasers() []erase.Eraser {
	return []erase.Eraser{
		{Name: "survey lists", Erase: s.surveys.Erase},
		{Name: "survey keys", Erase: s.vault.Forget},
	}
}
