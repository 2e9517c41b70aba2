package web_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestHalfAPlace: a place with one of its numbers would lie on the equator or
// the meridian without anybody having said so.
func TestHalfAPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ body, code, pointer string }{
		{`{"at":{"lat":0,"lon":0}}`, "", ""},
		{`{"list":[{"lat":1.5,"lon":-2}]}`, "", ""},
		{`{"at":null}`, "", ""},
		{`{"at":{"lat":1}}`, "MISSING_MEMBER", "/at/lon"},
		{`{"at":{"lat":null,"lon":36.8}}`, "MISSING_MEMBER", "/at/lat"},
		{`{"at":{}}`, "MISSING_MEMBER", "/at/lat"},
		{`{"list":[{"lat":1,"lon":2},{"lon":2}]}`, "MISSING_MEMBER", "/list/1/lat"},
		{`{"at":{"lat":1,"lon":2,"alt":3}}`, "UNKNOWN_MEMBER", "/at/alt"},
		{`{"at":{"lat":"1","lon":2}}`, "WRONG_TYPE", "/at/lat"},
		{`{"at":5}`, "WRONG_TYPE", "/at"},
		{`{"at":{"lat":1,"lat":1,"lon":2}}`, "DUPLICATE_MEMBER", "/at/lat"},
	} {
		var v struct {
			At   *api.Place `json:"at"`
			List []api.Spot `json:"list"`
		}
		err := web.DecodeStrict([]byte(tt.body), &v, false)
		pointer := ""
		if f := fault.As(err); f != nil && len(f.Fields) > 0 {
			pointer = f.Fields[0].Pointer
			for _, one := range f.Fields { // they come in no order
				if one.Pointer == tt.pointer {
					pointer = one.Pointer
				}
			}
		}
		if fault.CodeOf(err) != tt.code || pointer != tt.pointer {
			t.Errorf("%s: %s at %q, want %s at %q (%v)", tt.body, fault.CodeOf(err), pointer, tt.code, tt.pointer, err)
		}
	}
}
