package attach

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// Home is a homeserver that the operator has listed. It is asked for callers who
// name it, with their own token, so that they read only what they may see there.
type Home struct {
	Base   string // https://matrix.example.org
	Client Doer   // reaches it, and nothing else inside our network
}

// Sender is the sender's account at a homeserver.
type Sender struct {
	Homeserver string // its address or its name
	Token      tool.Token
	Room       string // where events are that are named alone
}

// Why a file that a homeserver keeps could not be read.
const (
	noHome      = "the message names no homeserver"
	otherHome   = "its homeserver is not on the list of allowed ones"
	noToken     = "the message came without an access token of its homeserver"
	noRoom      = "the message does not say in which room its event is"
	noMedia     = "its address is not that of a file"
	noFile      = "its event holds no file"
	otherRoom   = "its event is of another room"
	encrypted   = "it is encrypted from end to end, and this server has no key of the room"
	maybeSealed = "it is encrypted, or it is not text"
)

const (
	mediaPath = "/_matrix/client/v1/media/download/"
	roomPath  = "/_matrix/client/v3/rooms/"
	maxEvent  = 256 << 10 // bytes; an event has at most 64 KiB, and its server adds to it
)

// mxc takes the address of a file of a homeserver apart: its server and its id.
var mxc = regexp.MustCompile(`^mxc://([0-9A-Za-z.:\[\]-]{1,255})/([0-9A-Za-z_-]{1,255})$`)

// kept asks the homeserver of the sender for a file, which the address names or the
// event.
func (r *Reader) kept(ctx context.Context, address, event string, from Sender) (*http.Response, error) {
	home, err := r.home(from)
	if err != nil {
		return nil, err
	}
	if address == "" {
		if address, err = home.find(ctx, event, from); err != nil {
			return nil, err
		}
	}
	part := mxc.FindStringSubmatch(address)
	if part == nil || strings.Trim(part[1], ".") == "" {
		return nil, refusal(noMedia)
	}
	return home.get(ctx, mediaPath+url.PathEscape(part[1])+"/"+part[2], from.Token)
}

// home finds the homeserver of the sender among those that may be asked. A token is
// sent there and nowhere else.
func (r *Reader) home(from Sender) (Home, error) {
	if from.Homeserver == "" {
		return Home{}, refusal(noHome)
	}
	for _, h := range r.cfg.Homes {
		if h.is(from.Homeserver) {
			if from.Token.Reveal() == "" {
				return Home{}, refusal(noToken)
			}
			return h, nil
		}
	}
	return Home{}, refusal(otherHome)
}

// is reports whether a sender means this homeserver: by its address, or by its host.
func (h Home) is(named string) bool {
	base, err := url.Parse(h.Base)
	if err != nil {
		return false
	}
	if !strings.Contains(named, "://") {
		named = base.Scheme + "://" + named
	}
	u, err := url.Parse(named)
	return err == nil && u.User == nil && u.Opaque == "" && strings.Trim(u.Path, "/") == "" && u.Scheme == base.Scheme && hostPort(u) == hostPort(base)
}

// hostPort is where an address leads, in one form.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + " " + port
}

// find reads the event and gives the address of its file.
func (h Home) find(ctx context.Context, event string, from Sender) (string, error) {
	if !strings.HasPrefix(from.Room, "!") || len(from.Room) > 255 {
		return "", refusal(noRoom)
	}
	res, err := h.get(ctx, roomPath+url.PathEscape(from.Room)+"/event/"+url.PathEscape(event), from.Token)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxEvent))
	if err != nil {
		return "", err
	}
	var e struct {
		Room    string `json:"room_id"`
		Type    string `json:"type"`
		Content struct {
			URL  string         `json:"url"`
			File jsontext.Value `json:"file"`
		} `json:"content"`
	}
	err = json.Unmarshal(raw, &e)
	switch {
	case err != nil:
		return "", refusal(noFile)
	case e.Room != from.Room: // some servers look at the event only
		return "", refusal(otherRoom)
	case e.Type == "m.room.encrypted" || len(e.Content.File) > 0:
		return "", refusal(encrypted)
	case e.Type != "m.room.message" && e.Type != "m.sticker" || e.Content.URL == "":
		return "", refusal(noFile)
	}
	return e.Content.URL, nil
}

// get asks the homeserver with the token of the sender. The guarded client takes the
// token off where the server redirects to another one.
func (h Home) get(ctx context.Context, path string, token tool.Token) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.Base+path, nil)
	if err != nil {
		return nil, refusal(forbidden)
	}
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	res, err := h.Client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusUnauthorized:
		return nil, refusal("its homeserver does not accept the access token")
	case http.StatusForbidden:
		return nil, refusal("its homeserver does not let this user read it")
	case http.StatusNotFound:
		return nil, refusal("its homeserver does not have it, or does not show it to this user")
	case http.StatusTooManyRequests:
		return nil, refusal("its homeserver is asked too often")
	}
	return nil, refusal(fmt.Sprintf("its homeserver answers %d", res.StatusCode))
}

// sealed reports whether the content is probably encrypted: apps upload such files
// as bytes without a type, and they are not text.
func sealed(text string, ok bool, kind string) bool {
	return strings.HasPrefix(kind, "application/octet-stream") && (!ok || strings.ContainsRune(text, utf8.RuneError))
}
