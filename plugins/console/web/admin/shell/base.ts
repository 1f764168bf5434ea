/** Path below which the back office lies, without a slash at its end. */
export const base = new URL(document.baseURI).pathname.replace(/\/$/, '')
