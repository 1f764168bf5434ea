/** The scripts that UAX 31, table 5, recommends for identifiers. */
const recommended = [
  'Arabic',
  'Armenian',
  'Bengali',
  'Bopomofo',
  'Cyrillic',
  'Devanagari',
  'Ethiopic',
  'Georgian',
  'Greek',
  'Gujarati',
  'Gurmukhi',
  'Han',
  'Hangul',
  'Hebrew',
  'Hiragana',
  'Kannada',
  'Katakana',
  'Khmer',
  'Lao',
  'Latin',
  'Malayalam',
  'Myanmar',
  'Oriya',
  'Sinhala',
  'Tamil',
  'Telugu',
  'Thaana',
  'Thai',
  'Tibetan',
]

/** Scripts that are written together count as one (UTS 39, 5.1): Japanese, Korean, Chinese with its phonetic signs. */
const together = [
  ['Han', 'Hiragana', 'Katakana'],
  ['Han', 'Hangul'],
  ['Han', 'Bopomofo'],
]

/** Letters of these scripts, the digits 0 to 9, and the marks that user names may have. */
const writtenIn = (scripts: readonly string[]) =>
  new RegExp(`^[[[${scripts.map((script) => `\\p{scx=${script}}`).join('')}]&&\\p{L}]0-9_.\\-]+$`, 'v')

let writings: readonly RegExp[] | undefined
/** Made for the first name that is checked: it takes 7 ms, which is no part of a start. */
const allWritings = () => {
  writings ??= [...together, ...recommended.map((script) => [script])].map(writtenIn)
  return writings
}

/**
 * Whether a name keeps to one script ("single script" of UTS 39, 5.2), so that no letter of another one can stand for a
 * look-alike: of `admin` with a Cyrillic `а` nobody sees that it is not `admin`. Digits other than 0 to 9 are of no script.
 */
export const isOfOneScript = (name: string): boolean => allWritings().some((writing) => writing.test(name))
