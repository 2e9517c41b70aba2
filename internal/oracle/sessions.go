package oracle

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
)

// The default sizes of a list of sessions and of a page of history.
const (
	usualSessions = 20
	usualTurns    = 20
)

func (s *Service) serveCreateSession(w http.ResponseWriter, r *http.Request, q *request) error {
	created, err := s.cfg.Chat.CreateSession(r.Context(), q.user())
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, created)
}

type sessionList struct {
	Sessions []chat.Session `json:"sessions"`
	Total    int64          `json:"total"`
}

func (s *Service) serveSessions(w http.ResponseWriter, r *http.Request, q *request) error {
	var bad fault.Checks
	in := r.URL.Query()
	limit := counted(&bad, "limit", in.Get("limit"), bounds{usualSessions, 1, maxListed})
	offset := counted(&bad, "offset", in.Get("offset"), bounds{0, 0, maxOffset})
	if err := bad.Err("VALIDATION_FAILED", "The request is not valid."); err != nil {
		return err
	}
	list, total, err := s.cfg.Chat.ListSessions(r.Context(), q.user(), limit, offset)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, sessionList{list, total})
}

// maxListed is the largest limit that is taken; a page may be shorter. maxOffset
// is far beyond what anybody has.
const (
	maxListed = 1000
	maxOffset = 1 << 30
)

func (s *Service) serveDeleteSession(w http.ResponseWriter, r *http.Request, q *request) error {
	if err := s.cfg.Chat.DeleteSession(r.Context(), q.user(), r.PathValue("sessionId")); err != nil {
		return err
	}
	return reply(w, http.StatusOK, note{"Session deleted successfully"})
}

type note struct {
	Message string `json:"message"`
}

func (s *Service) serveHistory(w http.ResponseWriter, r *http.Request, q *request) error {
	var bad fault.Checks
	in := r.URL.Query()
	page := chat.Range{Limit: counted(&bad, "limit", in.Get("limit"), bounds{usualTurns, 1, chat.MaxTurns}), Before: in.Get("before"), After: in.Get("after")}
	if page.Before != "" && page.After != "" {
		bad.Add("query/after", "conflict", "before and after must not be given together")
	}
	if err := bad.Err("VALIDATION_FAILED", "The request is not valid."); err != nil {
		return err
	}
	got, err := s.cfg.Chat.Page(r.Context(), q.user(), r.PathValue("sessionId"), page)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, got)
}

type messageList struct {
	Messages []jsontext.Value `json:"messages"`
}

func (s *Service) serveMessages(w http.ResponseWriter, r *http.Request, q *request) error {
	all, err := s.cfg.Chat.Messages(r.Context(), q.user(), r.PathValue("sessionId"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, messageList{all})
}
