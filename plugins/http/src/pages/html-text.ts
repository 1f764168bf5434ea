const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text as it stands in HTML, also between quotes. */
export const htmlText = (text: string): string => text.replace(/[&<>"']/g, (sign) => entities[sign] as string)
