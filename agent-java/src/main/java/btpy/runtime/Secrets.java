package btpy.runtime;

/** The names of values that must not be shown. */
final class Secrets {
    /** Lower case, without separators. They are compared with the whole name. */
    private static final String[] WORDS = {
        "password", "passwd", "passphrase", "pwd", "pin", "pincode", "secret", "secretkey", "secretaccesskey", "clientsecret",
        "appsecret", "sharedsecret", "token", "accesstoken", "refreshtoken", "idtoken", "authtoken", "apitoken", "sessiontoken",
        "bearertoken", "securitytoken", "usertoken", "csrftoken", "xsrftoken", "csrf", "xsrf", "jwt", "auth", "authorization",
        "proxyauthorization", "authentication", "credential", "credentials", "apikey", "apikeyid", "apisecret", "xapikey",
        "accesskey", "accesskeyid", "privatekey", "encryptionkey", "signingkey", "masterkey", "sshkey", "rsakey", "keypassword",
        "keystorepassword", "truststorepassword", "storepassword", "dbpassword", "databasepassword", "userpassword",
        "adminpassword", "rootpassword", "oldpassword", "newpassword", "confirmpassword", "passwordhash",
        "cookie", "cookies", "setcookie", "sessionid", "sessionkey", "jsessionid", "phpsessid", "connectsid",
        "ssn", "socialsecuritynumber", "creditcard", "creditcardnumber", "cardnumber", "ccnumber", "cvv", "cvc", "cvv2",
        "securitycode", "iban", "accountnumber", "routingnumber", "otp", "totp", "mfacode",
        "privatekeypem", "xauthtoken", "xcsrftoken", "xforwardedauthorization", "oauthtoken",
        "oauthsecret", "awssecretaccesskey", "awssessiontoken",
    };

    /** Parts that mark a secret at any position of a name ({@code customerPassword2}). */
    private static final String[] PARTS = {"password", "passwd", "passphrase", "secretkey", "privatekey", "apikey", "accesstoken"};

    /**
     * Words that mark a secret at the end of a name of several words ({@code slackToken}, {@code db.pwd}, {@code
     * GITHUB_SECRET}).
     */
    private static final String[] LAST_WORDS = {
        "token", "secret", "pwd", "credential", "credentials", "cookie", "jwt", "otp", "cvv", "ssn", "iban", "passcode",
    };

    private Secrets() {}

    /**
     * Whether a name belongs to a secret: its letters and digits, in lower case, are one of the words or contain one of
     * the parts, or its last word is one of {@link #LAST_WORDS}. A word begins with a capital letter, or after a
     * character that is neither letter nor digit. Consecutive capital letters are one word.
     */
    static boolean names(String name) {
        int length = Strings.length(name);
        if (length > 64) {
            return false;
        }
        char[] letters = new char[length];
        int count = 0;
        for (int i = 0; i < length; i++) {
            char c = Strings.charAt(name, i);
            if (c >= 'A' && c <= 'Z') {
                letters[count++] = (char) (c + 32);
            } else if (c >= 'a' && c <= 'z' || c >= '0' && c <= '9') {
                letters[count++] = c;
            }
        }
        for (String word : WORDS) {
            if (Strings.length(word) == count && matches(word, letters, 0)) {
                return true;
            }
        }
        for (String part : PARTS) {
            for (int from = 0; from + Strings.length(part) <= count; from++) {
                if (matches(part, letters, from)) {
                    return true;
                }
            }
        }
        int start = lastWord(name, length);
        for (String word : LAST_WORDS) {
            int size = Strings.length(word);
            if (size == length - start && matches(word, letters, count - size)) {
                return true;
            }
        }
        return false;
    }

    /** The position at which the last word begins. */
    private static int lastWord(String name, int length) {
        int start = length;
        while (start > 0 && isLowerOrDigit(Strings.charAt(name, start - 1))) {
            start--;
        }
        if (start < length) {
            return start > 0 && isUpper(Strings.charAt(name, start - 1)) ? start - 1 : start;
        }
        while (start > 0 && isUpper(Strings.charAt(name, start - 1))) {
            start--;
        }
        return start;
    }

    private static boolean isUpper(char c) {
        return c >= 'A' && c <= 'Z';
    }

    private static boolean isLowerOrDigit(char c) {
        return c >= 'a' && c <= 'z' || c >= '0' && c <= '9';
    }

    private static boolean matches(String word, char[] letters, int from) {
        for (int i = 0; i < Strings.length(word); i++) {
            if (Strings.charAt(word, i) != letters[from + i]) {
                return false;
            }
        }
        return true;
    }
}
