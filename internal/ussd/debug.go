package ussd

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	listPage = 500  // sessions read at once
	maxList  = 1000 // ids in a list
	maxLive  = 200  // sessions that a list says more about
	maxSame  = 20   // sessions of one id that are looked at
)

// Sessions is the list of live sessions.
type Sessions struct {
	Active []string `json:"activeSessions"`
	Count  int      `json:"count"`
	More   bool     `json:"more,omitzero" doc:"Whether there are more sessions than listed."`
	// Live describes each session; the documented members come first.
	Live []LiveSession `json:"sessions" doc:"The sessions, at most 200 of them."`
}

// LiveSession is the position of a live session.
type LiveSession struct {
	SessionID   string    `json:"sessionId"`
	PhoneNumber string    `json:"phoneNumber" doc:"How it begins and ends." example:"+254•••••01"`
	Gateway     string    `json:"gateway,omitempty"`
	State       string    `json:"state" example:"preMenu"`
	Path        string    `json:"path" doc:"The node of the menu." example:"login.pin"`
	Language    string    `json:"language" example:"en"`
	Steps       int       `json:"steps" doc:"Answers so far."`
	Started     time.Time `json:"sessionStartTime"`
	Age         float64   `json:"ageSeconds" doc:"Since it began."`
}

// Debug is the state of a session, as in the interface document, with further
// members.
type Debug struct {
	Error     string    `json:"error,omitempty" example:"Session not found"`
	SessionID string    `json:"sessionId"`
	Info      DebugInfo `json:"debugInfo"`
	Others    []Other   `json:"others,omitempty" doc:"Other numbers or gateways with the same id."`
	Ended     []Ended   `json:"ended,omitempty" doc:"What gateways reported when sessions with this id ended."`
	Active    []string  `json:"activeSessions"`
}

// DebugInfo is the session itself.
type DebugInfo struct {
	Error     string        `json:"error,omitempty"`
	SessionID string        `json:"sessionId,omitempty"`
	State     string        `json:"state,omitempty" example:"preMenu"`
	Path      string        `json:"path,omitempty" doc:"The node of the menu." example:"login.pin"`
	Context   *DebugContext `json:"context,omitempty"`
	Status    string        `json:"status,omitempty" example:"active"`
}

// DebugContext is the session's variables, without secrets.
type DebugContext struct {
	SessionID       string      `json:"sessionId"`
	PhoneNumber     string      `json:"phoneNumber"`
	ServiceCode     string      `json:"serviceCode"`
	Gateway         string      `json:"gateway,omitempty"`
	Message         string      `json:"message" doc:"The last screen."`
	IsAuthenticated bool        `json:"isAuthenticated"`
	CustomerName    string      `json:"customerName,omitempty"`
	Language        string      `json:"language"`
	Menu            string      `json:"menu" doc:"The menu pack and its version." example:"hearth 3f2a91c0b7de"`
	Limits          menu.Limits `json:"limits" doc:"Largest number of units on a screen: the limit of the menu, or of the gateway if that is lower."`
	Steps           int         `json:"steps"`
	TextMode        string      `json:"textMode" enum:"accumulated,latest"`
	Started         time.Time   `json:"sessionStartTime"`
	Updated         time.Time   `json:"lastActivity"`
	Expires         time.Time   `json:"expiresAt"`
}

// Other is another session of the same id.
type Other struct {
	PhoneNumber string `json:"phoneNumber"`
	Gateway     string `json:"gateway,omitempty"`
	State       string `json:"state"`
}

const notFound = "Session not found"

func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := web.Encode(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone when this fails
	return nil
}

func (s *Service) serveSessions(w http.ResponseWriter, r *http.Request) error {
	ids, more, err := s.active(r.Context())
	if err != nil {
		return err
	}
	live, err := liveSessions(r.Context(), s)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, Sessions{Active: ids, Count: len(ids), More: more, Live: live})
}

// liveSessions lists live sessions in the order of their ids. One that cannot
// be read, or has shown nothing yet, is left out.
func liveSessions(ctx context.Context, s *Service) ([]LiveSession, error) {
	out, from := []LiveSession{}, ""
	for {
		rows, err := after(ctx, s.db, from, listPage)
		if err != nil || len(rows) == 0 {
			return out, err
		}
		now := s.now()
		for _, r := range rows {
			if r.done() || r.expires <= now.UnixMilli() {
				continue
			}
			k := readKey(r.id)
			rec, err := readRecord(r.state, &k, s.box)
			if err != nil || rec.begins() {
				continue
			}
			began := time.UnixMicro(rec.started).UTC()
			out = append(out, LiveSession{
				SessionID: k.session, PhoneNumber: maskPhone(k.phone), Gateway: k.gateway, State: s.stateOf(rec), Path: rec.state.Node, Language: rec.state.Lang,
				Steps: rec.state.Step, Started: began, Age: now.Sub(began).Round(100 * time.Millisecond).Seconds(),
			})
			if len(out) == maxLive {
				return out, nil
			}
		}
		from = rows[len(rows)-1].id
	}
}

func (s *Service) serveDebug(w http.ResponseWriter, r *http.Request) error {
	d, err := s.debug(r.Context(), strings.ToValidUTF8(r.PathValue("sessionId"), "\uFFFD")) // no id has that one
	if err != nil {
		return err
	}
	status := http.StatusOK
	if d.Error != "" {
		status = http.StatusNotFound
	}
	return writeJSON(w, status, d)
}

// serveDialog also serves ended sessions, while they are stored: a complete
// walk is the one worth saving.
func (s *Service) serveDialog(w http.ResponseWriter, r *http.Request) error {
	id := strings.ToValidUTF8(r.PathValue("sessionId"), "\uFFFD")
	all, err := s.records(r.Context(), id)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return writeJSON(w, http.StatusNotFound, Debug{Error: notFound, SessionID: id, Info: DebugInfo{Error: notFound}, Active: []string{}})
	}
	w.Header()["Content-Type"] = plainText
	_, _ = w.Write(all[0].rec.dialog(&all[0].key)) // the client is gone when this fails
	return nil
}

// held is a session with its record.
type held struct {
	row *row
	key key
	rec *record
}

// records lists the sessions of an id, the newest first. One that cannot be
// read is left out.
func (s *Service) records(ctx context.Context, id string) ([]held, error) {
	from, to := keysOf(id)
	rows, err := within(ctx, s.db, from, to, maxSame)
	if err != nil {
		return nil, err
	}
	var out []held
	for _, r := range rows {
		k := readKey(r.id)
		rec, err := readRecord(r.state, &k, s.box)
		if err != nil {
			continue
		}
		out = append(out, held{r, k, rec})
		for i := len(out) - 1; i > 0 && out[i].rec.updated > out[i-1].rec.updated; i-- {
			out[i], out[i-1] = out[i-1], out[i]
		}
	}
	return out, nil
}

// debug describes the newest session of an id that is alive.
func (s *Service) debug(ctx context.Context, id string) (*Debug, error) {
	d := &Debug{SessionID: id}
	all, err := s.records(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, h := range all {
		switch {
		case h.rec.state.Done || h.row.expires <= s.now().UnixMilli():
		case d.Info.Context == nil:
			d.Info = s.info(h)
		default:
			d.Others = append(d.Others, Other{h.key.phone, h.key.gateway, s.stateOf(h.rec)})
		}
	}
	if d.Info.Context == nil {
		d.Error, d.Info.Error = notFound, notFound
	}
	if d.Ended, err = callsOf(ctx, s.db, id, maxSame); err != nil {
		return nil, err
	}
	d.Active, _, err = s.active(ctx)
	return d, err
}

func (s *Service) info(h held) DebugInfo {
	k, rec, st := &h.key, h.rec, &h.rec.state
	var of menu.Limits
	if g := s.cfg.Gateways.Get(k.gateway); g != nil {
		of = g.Limits
	}
	return DebugInfo{
		SessionID: k.session, State: s.stateOf(rec), Path: st.Node, Status: "active",
		Context: &DebugContext{
			SessionID: k.session, PhoneNumber: k.phone, ServiceCode: rec.code, Gateway: k.gateway, Message: rec.answer,
			IsAuthenticated: st.Authenticated(), CustomerName: st.Vars["customerName"], Language: st.Lang, Menu: st.Pack + " " + st.Version,
			Limits: packOf(s, rec).Within(of), Steps: st.Step, TextMode: textMode(rec.mode),
			Started: time.UnixMicro(rec.started).UTC(), Updated: time.UnixMicro(rec.updated).UTC(), Expires: time.UnixMilli(h.row.expires).UTC(),
		},
	}
}

// textMode is the word for a mode.
func textMode(m mode) string {
	if m == latest {
		return string(wire.Latest)
	}
	return string(wire.Accumulated)
}

// stateOf is the documented name of where a session stands.
func (s *Service) stateOf(rec *record) string {
	if n := packOf(s, rec).Node(rec.state.Node); n != nil {
		return n.State
	}
	return rec.state.Node
}

// active lists the ids of sessions that are alive, in their order.
func (s *Service) active(ctx context.Context) (ids []string, more bool, err error) {
	ids = []string{}
	from := ""
	for {
		rows, err := after(ctx, s.db, from, listPage)
		if err != nil || len(rows) == 0 {
			return ids, false, err
		}
		now := s.now().UnixMilli()
		for _, r := range rows {
			id := readKey(r.id).session
			if r.done() || r.expires <= now || len(ids) > 0 && ids[len(ids)-1] == id {
				continue
			}
			if len(ids) == maxList {
				return ids, true, nil
			}
			ids = append(ids, id)
		}
		from = rows[len(rows)-1].id
	}
}

// done reports whether a session has ended, without reading all of it.
func (r *row) done() bool { return len(r.state) > 1 && r.state[1]&flagDone != 0 }

// effective reports whether actions had an effect in a session.
func (r *row) effective() bool { return len(r.state) > 1 && r.state[1]&flagEffects != 0 }

// packOf is the menu of a session, or the current one when it is gone.
func packOf(s *Service, rec *record) *menu.Pack {
	if p := s.cfg.Packs.Version(rec.state.Version); p != nil {
		return p
	}
	return s.cfg.Packs.Current()
}
