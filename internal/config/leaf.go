package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// leaf is one setting: its path and the field that holds it.
type leaf struct {
	path   string
	secret string // "yes": hidden; "url": the password in it is hidden
	field  reflect.Value
}

// env is the environment variable of the setting.
func (l leaf) env() string { return "RECON_" + strings.ToUpper(strings.ReplaceAll(l.path, ".", "_")) }

// flag is the name of the setting's flag.
func (l leaf) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(l.path) }

// leaves lists the settings of s in the order of the struct, maps left out.
func leaves(s *Settings) []leaf {
	return walk(nil, "", reflect.ValueOf(s).Elem())
}

func walk(found []leaf, path string, v reflect.Value) []leaf {
	t := v.Type()
	for i := range t.NumField() {
		at := t.Field(i).Tag.Get("yaml")
		if path != "" {
			at = path + "." + at
		}
		switch f := v.Field(i); f.Kind() {
		case reflect.Struct:
			found = walk(found, at, f)
		case reflect.Map:
		default:
			found = append(found, leaf{path: at, secret: t.Field(i).Tag.Get("secret"), field: f})
		}
	}
	return found
}

// set gives the setting the value that a text stands for.
func (l leaf) set(text string) error {
	text = strings.TrimSpace(text)
	switch p := l.field.Addr().Interface().(type) {
	case *string:
		*p = text
	case *bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q: want true or false", text)
		}
		*p = b
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q: want a whole number", text)
		}
		*p = n
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q: want a duration such as 30s, 5m or 24h", text)
		}
		*p = d
	case *[]string:
		*p = nil
		for one := range strings.SplitSeq(text, ",") {
			if one = strings.TrimSpace(one); one != "" {
				*p = append(*p, one)
			}
		}
	default:
		panic(fmt.Sprintf("config: setting %s has a type that no text can give", l.path))
	}
	return nil
}

// text is the setting's value as set takes it.
func (l leaf) text() string {
	switch v := l.field.Interface().(type) {
	case []string:
		return strings.Join(v, ",")
	default:
		return fmt.Sprint(v)
	}
}

// shown is text with what is secret hidden.
func (l leaf) shown() string {
	text := l.text()
	switch {
	case text == "" || l.secret == "":
		return text
	case l.secret == "url":
		return hidePassword(text)
	default:
		return "(hidden)"
	}
}

// hidePassword replaces what stands between `user:` and the last `@` of a URL, and the values of the parameters that
// are passwords. It does not parse: a URL that is wrong must not show its password either.
func hidePassword(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if scheme += "://"; !ok {
		scheme, rest = "", url
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		if user, _, has := strings.Cut(rest[:at], ":"); has {
			rest = user + ":(hidden)" + rest[at:]
		}
	}
	return scheme + passwordParameter.ReplaceAllString(rest, "${1}(hidden)")
}

// passwordParameter is a parameter such as `password=…` or `sslpassword=…`, up to the next one.
var passwordParameter = regexp.MustCompile(`(?i)([?&][^=&]*password=)[^&]+`)
