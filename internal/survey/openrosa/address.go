package openrosa

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const making = "A collector scans the QR code in ODK Collect (Configure with QR code) to get their forms. The address holds a secret and is shown once: it contains the text of a key with only the scope collect:send, which is listed and revoked like other keys. " +
	"It offers the surveys that name its principal as a collector or give it households to visit, and accepts the responses sent to them. Without collector, a new principal is made: name it as a collector in the survey. Naming a principal other than yourself needs the scope *."

// AddressRoutes adds the routes that make addresses, and that read submissions, to
// a.
func (s *Service) AddressRoutes(a *web.API) {
	web.Post(a, "/v1/collect/addresses", s.serveAddress, web.Doc{
		Summary: "Make an address for ODK Collect", Scope: "keys:write", Tag: "collect", Status: http.StatusCreated, Description: making,
		Example: api.CollectAddressDraft{Name: "Phone of the Kitui team", Origin: "https://hearth.example.org"},
		Codes:   []string{"KEY_DRAFT_INVALID", "SCOPE_MISSING", "RESTRICTION_EXCEEDED", "ORIGIN_INVALID"},
	})
	a.Handle(http.MethodGet, "/v1/responses/{responseId}/xml", s.serveXML, web.Doc{
		Summary: "Read a response as a submission of ODK Collect", Scope: "responses:read", Tag: "responses", Produces: "application/xml", Codes: []string{"RESPONSE_NOT_FOUND", "XFORM_NOT_POSSIBLE"},
		Description: "The form instance that a phone would have sent, however the interview was held, with the parts that the key may read. Files are named by their hashes, which GET /v1/attachments/{sha256} accepts.",
	})
}

func (s *Service) serveAddress(ctx context.Context, in *struct{ Body api.CollectAddressDraft }) (web.Reply[*api.CollectAddress], error) {
	var none web.Reply[*api.CollectAddress]
	origin := in.Body.Origin
	if origin == "" {
		origin = s.cfg.PublicURL
	}
	if u, err := url.Parse(origin); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return none, fault.New(fault.Invalid, "ORIGIN_INVALID", "The address of this server is not known.").
			With(fault.Field{Pointer: "/origin", Code: "invalid", Detail: "Give the address at which phones reach this server, such as https://hearth.example.org, or set HEARTH_PUBLIC_URL."})
	}
	made, err := s.cfg.Issue(ctx, in.Body)
	if err != nil {
		return none, err
	}
	out := &api.CollectAddress{KeyID: made.ID, Collector: made.Principal, URL: strings.TrimSuffix(origin, "/") + Path + made.Text}
	if out.Settings, err = settings(out.URL, in.Body.Name); err != nil {
		return none, err
	}
	if out.QR, err = s.cfg.Draw(out.Settings); err != nil {
		return none, err
	}
	return web.Reply[*api.CollectAddress]{Value: out, Status: http.StatusCreated}, nil
}

// settings are those of Collect as its QR codes hold them: JSON, packed with zlib,
// in base64.
func settings(address, name string) (string, error) {
	text, err := json.Marshal(map[string]any{
		"general": map[string]any{"protocol": "odk_default", "server_url": address, "username": "", "password": "", "form_update_mode": "match_exactly", "autosend": "wifi_and_cellular", "delete_send": false},
		"admin":   map[string]any{},
		"project": map[string]any{"name": name, "icon": "H", "color": "#b5482a"},
	}, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("encode settings: %w", err)
	}
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		return "", fmt.Errorf("pack settings: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("pack settings: %w", err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}
