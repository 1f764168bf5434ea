interface MailLink {
  readonly purpose: string
  /** Empty if the page was opened without a link. */
  readonly token: string
}

/** Reads the link of a mail, and removes its token from the address bar and from the history. */
function takeLink(): MailLink {
  const parts = new URLSearchParams(location.hash.slice(1))
  if (parts.has('token')) history.replaceState(null, '', location.pathname)
  return { purpose: parts.get('for') ?? '', token: parts.get('token') ?? '' }
}

/** The link with which the page was opened. */
export const link = takeLink()

// A second link that is opened in the same tab changes only the fragment.
addEventListener('hashchange', () => location.reload())
