package db

import (
	"database/sql"
	"fmt"
	"reflect"

	"github.com/hearth-dmrv/hearth/internal/db/sqlite"
)

// assign stores a column in what dest points to. NULL goes into pointers,
// sql.Scanner and *any only.
func assign(dest any, src sqlite.Value) error {
	switch d := dest.(type) {
	case *string:
		switch src.Kind {
		case sqlite.Text:
			*d = src.Text()
			return nil
		case sqlite.Blob:
			*d = string(src.Bytes())
			return nil
		}
	case *[]byte:
		return assignBytes(d, src)
	case *int64:
		if src.Kind == sqlite.Int {
			*d = src.Int()
			return nil
		}
	case *int:
		if src.Kind == sqlite.Int {
			*d = int(src.Int())
			return nil
		}
	case *bool:
		if src.Kind == sqlite.Int && (src.Int() == 0 || src.Int() == 1) {
			*d = src.Int() == 1
			return nil
		}
	case *float64:
		switch src.Kind {
		case sqlite.Float:
			*d = src.Float()
			return nil
		case sqlite.Int:
			*d = float64(src.Int())
			return nil
		}
	case *any:
		*d = boxed(src)
		return nil
	case sql.Scanner:
		return d.Scan(boxed(src))
	default:
		return assignReflect(dest, src)
	}
	return mismatch(dest, src)
}

// boxed is the value as database/sql knows it.
func boxed(v sqlite.Value) any {
	switch v.Kind {
	case sqlite.Int:
		return v.Int()
	case sqlite.Float:
		return v.Float()
	case sqlite.Text:
		return v.Text()
	case sqlite.Blob:
		return v.Bytes()
	}
	return nil
}

func assignBytes(d *[]byte, src sqlite.Value) error {
	switch src.Kind {
	case sqlite.Null:
		*d = nil
	case sqlite.Blob:
		*d = src.Bytes()
	case sqlite.Text:
		*d = []byte(src.Text())
	default:
		return mismatch(d, src)
	}
	return nil
}

// assignReflect serves defined types and pointers.
func assignReflect(dest any, src sqlite.Value) error {
	p := reflect.ValueOf(dest)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("destination %T is not a pointer", dest)
	}
	v := p.Elem()
	if v.Kind() == reflect.Pointer {
		if src.Kind == sqlite.Null {
			v.SetZero()
			return nil
		}
		n := reflect.New(v.Type().Elem())
		if err := assign(n.Interface(), src); err != nil {
			return err
		}
		v.Set(n)
		return nil
	}
	if setKind(v, src) {
		return nil
	}
	return mismatch(dest, src)
}

func setKind(v reflect.Value, src sqlite.Value) bool {
	switch v.Kind() {
	case reflect.String:
		var s string
		if assign(&s, src) == nil {
			v.SetString(s)
			return true
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if i := src.Int(); src.Kind == sqlite.Int && !v.OverflowInt(i) {
			v.SetInt(i)
			return true
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if i := src.Int(); src.Kind == sqlite.Int && i >= 0 && !v.OverflowUint(uint64(i)) {
			v.SetUint(uint64(i))
			return true
		}
	case reflect.Bool:
		var b bool
		if assign(&b, src) == nil {
			v.SetBool(b)
			return true
		}
	case reflect.Float32, reflect.Float64:
		var f float64
		if assign(&f, src) == nil {
			v.SetFloat(f)
			return true
		}
	case reflect.Slice:
		var b []byte
		if v.Type().Elem().Kind() == reflect.Uint8 && assignBytes(&b, src) == nil {
			v.SetBytes(b)
			return true
		}
	}
	return false
}

func mismatch(dest any, src sqlite.Value) error {
	if src.Kind == sqlite.Null {
		return fmt.Errorf("cannot scan NULL into %T", dest)
	}
	return fmt.Errorf("cannot scan %T into %T", boxed(src), dest)
}
