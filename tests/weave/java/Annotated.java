package com.acme;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Methods with annotations whose names are of several kinds. */
public class Annotated {
    @Retention(RetentionPolicy.RUNTIME)
    @interface Inner {}

    @Deprecated
    public void old() {}

    @Inner
    public void inner() {}

    @Gr\u00f6\u00dfe
    public void size() {}

    public void plain() {}
}

@interface Gr\u00f6\u00dfe {}
