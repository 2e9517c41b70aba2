package twin_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestEncode compares the record writer with the encoder of every answer, over
// all members there are: what is added to a record and forgotten in the writer
// fails here.
func TestEncode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var e twin.Entity
		fillAny(t, reflect.ValueOf(&e).Elem(), "e")
		want, wantErr := web.Encode(&e)
		got, err := e.Encode()
		if !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("Encode() = %s, %v\nwant %s, %v", got, err, want, wantErr)
		}
	})
}

// TestEncodeZero: the two ends, nothing set and everything set.
func TestEncodeZero(t *testing.T) {
	t.Parallel()
	full := twin.Entity{}
	fillAll(reflect.ValueOf(&full).Elem())
	for name, e := range map[string]*twin.Entity{"zero": {}, "full": &full} {
		want, wantErr := web.Encode(e)
		got, err := e.Encode()
		if !bytes.Equal(got, want) || err != nil || wantErr != nil {
			t.Errorf("%s: Encode() = %s, %v\nwant %s, %v", name, got, err, want, wantErr)
		}
	}
}

// fillAll gives every member a value that is not zero.
func fillAll(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("x", 3600))))
		return
	case twin.Object:
		v.Set(reflect.ValueOf(twin.Object{Value: jsontext.Value(" {\"a\" : [1.50, \"\\u0041\\/\", null], \"b\":{}} ")}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillAll(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillAll(v.Index(0))
		fillAll(v.Index(1))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"b": "1", "a\"": "<2>", "é": ""}))
	case reflect.String:
		v.SetString("text \" \\ \u2028 </script> \x7f é \t")
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(-7)
	}
}

// fillAny draws a value for every member, often an empty one.
func fillAny(t *rapid.T, v reflect.Value, name string) {
	texts := rapid.OneOf(rapid.SampledFrom([]string{"", "did:ixo:entity:1", "\"", "\\", "a\x00b", "\xff", "<&>", "\u2028", "\ufffd"}), rapid.String())
	switch v.Interface().(type) {
	case time.Time:
		sec := rapid.SampledFrom([]int64{0, -62135596800, 1767322800, -62135596801, 253402300800}).Draw(t, name)
		at := time.Unix(sec, rapid.Int64Range(0, 999_999_999).Draw(t, name))
		if rapid.Bool().Draw(t, name) {
			at = time.Time{}
		}
		v.Set(reflect.ValueOf(at))
		return
	case twin.Object:
		raw := rapid.SampledFrom([]string{
			"", "{}", " { } ", `{"a":1}`, `{"a":1,"a":2}`, `{"a" : "\u00e9\u0000\/", "b":[1e3, -0.0,true , null]}`, `{"é":"\ud800"}`, `{`, `[]`, `"x"`, "{\"\xff\":1}", "null",
		}).Draw(t, name)
		if raw != "" || rapid.Bool().Draw(t, name) {
			v.Set(reflect.ValueOf(twin.Object{Value: jsontext.Value(raw)}))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillAny(t, v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Slice:
		n := rapid.SampledFrom([]int{-1, 0, 0, 1, 3}).Draw(t, name)
		if n < 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fillAny(t, v.Index(i), name)
		}
	case reflect.Map:
		if rapid.Bool().Draw(t, name) {
			v.Set(reflect.ValueOf(rapid.MapOfN(texts, texts, 0, 4).Draw(t, name)))
		}
	case reflect.String:
		v.SetString(texts.Draw(t, name))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, name))
	default:
		v.SetInt(int64(rapid.Int32().Draw(t, name)))
	}
}

// BenchmarkEncode shows what a record costs, beside the encoder of answers.
func BenchmarkEncode(b *testing.B) {
	e := &twin.Entity{
		DID: "did:ixo:entity:175d7824ba25002e4ec206365e206236", Type: "Stove", Class: "physical", DomainType: "device", Controller: "did:key:z6Mk",
		Controllers: []string{"did:key:z6Mk"}, Properties: twin.Object{Value: jsontext.Value(`{"serial":"SN-1","power":12,"note":"` + string(bytes.Repeat([]byte("a stove "), 40)) + `"}`)},
		Created: time.Unix(1e9, 0), Updated: time.Unix(1e9, 0),
	}
	e.Normal()
	for name, encode := range map[string]func() ([]byte, error){"writer": e.Encode, "web": func() ([]byte, error) { return web.Encode(e) }} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := encode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
