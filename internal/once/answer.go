package once

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxBody is how large a body is kept, in bytes. A larger one is sent once;
// later senders learn that the request was done.
const maxBody = 1 << 20

// answer is the sealed, stored answer: a line of JSON, then the body.
type answer struct {
	Status   int    `json:"status,omitzero"`
	ETag     string `json:"etag,omitzero"`
	Location string `json:"location,omitzero"`
	Link     string `json:"link,omitzero"`
	Dropped  bool   `json:"dropped,omitzero"` // the body was too large to keep
	body     []byte
}

func (s *Store) seal(n name, a answer) ([]byte, error) {
	if len(a.body) > maxBody {
		a.Dropped, a.body = true, nil
	}
	head, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("encode stored answer: %w", err)
	}
	text := append(append(head, '\n'), a.body...)
	return s.box.Seal(n.bind(), text), nil
}

// open reads what seal made. The request was done when this is called: what
// does not open must never lead to doing it again.
func (s *Store) open(n name, sealed []byte) (*answer, error) {
	text, err := s.box.Open(n.bind(), sealed)
	if err != nil {
		return nil, errLost().Wrap(err)
	}
	head, body, ok := bytes.Cut(text, []byte("\n"))
	a := &answer{body: body}
	if !ok {
		return nil, errLost().Wrap(errors.New("stored answer has no head"))
	}
	if err := json.Unmarshal(head, a); err != nil {
		return nil, errLost().Wrap(err)
	}
	if a.Dropped {
		return nil, errLost().Wrap(errors.New("the body was too large to keep"))
	}
	return a, nil
}

func errLost() *fault.Error {
	return fault.New(fault.Conflict, "IDEMPOTENCY_ANSWER_LOST", "The request with this Idempotency-Key was done, but its answer cannot be shown again.")
}

// bind ties a sealed answer to its row.
func (n name) bind() string { return n.ws + "\n" + string(n.key[:]) + string(n.request[:]) }

// names reports whether an answer contains one of names as a whole, not as the
// beginning of a longer one.
func (a *answer) names(names []string) bool {
	for _, text := range [][]byte{a.body, []byte(a.Location), []byte(a.Link)} {
		for _, n := range names {
			for rest := text; n != ""; {
				i := bytes.Index(rest, []byte(n))
				if i < 0 {
					break
				}
				if rest = rest[i+len(n):]; len(rest) == 0 || !partOfName(rest[0]) {
					return true
				}
			}
		}
	}
	return false
}

// partOfName reports whether c can continue a name.
func partOfName(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_' || c == '.' || c == ':' || c == '%'
}
