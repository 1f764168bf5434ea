import fc from 'fast-check'
import t from 'tap'
import { productPathOrRoot } from '../src/pages/product-pages.ts'

const here = 'https://shop.example'
/** Returns the addresses that a browser opens for the target, with and without a context path. */
const destinations = (target: string) => ['', '/ctx'].map((prefix) => URL.parse(prefix + target, `${here}/install/`))

t.test('I-194 I-195 D.37 P14 P15 targets on other sites become the root path', async (t) => {
  const hostile = [
    '//evil.example',
    '//evil.example/x',
    '///evil.example',
    '//',
    '/\\evil.example',
    '\\\\evil.example',
    '\\/evil',
    '/%2fevil.example',
    '/%2Fevil.example',
    '/%5cevil.example',
    '/%5Cevil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/\r/evil',
    '\t//evil',
    ' //evil',
    '/a\\..\\..\\evil',
    '/\u0000',
    '/.//evil.example',
    '/..//evil.example',
    '/a/..//evil.example',
    '/./..//evil',
    '/%2e//evil',
    '/a/%2e%2e//evil',
    'https://evil.example',
    'HTTPS://evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    'evil.example',
    '',
    'admin/',
    '@evil.example',
    '?x',
    '#x',
    ':80',
  ]
  for (const target of hostile) t.equal(productPathOrRoot(target), '/', JSON.stringify(target))
})

t.test('I-191 paths of the product are unchanged', async (t) => {
  const own = [
    '/',
    '/admin/',
    '/install/',
    '/pc/index.html?x=//a#//b',
    '/a//b',
    '/%E4%B8%AD',
    '/中文/',
    '/a/../b',
    '/@me',
  ]
  for (const target of own) t.equal(productPathOrRoot(target), target)
})

t.test('I-194 I-195 whatever is configured, a browser stays on this site', async (t) => {
  const part = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '%2f',
    '%5c',
    '%2e',
    '\t',
    '\n',
    ' ',
    '@',
    ':',
    '?',
    '#',
    'evil.example',
    'a',
  )
  const text = fc.oneof(
    fc.array(part, { maxLength: 8 }).map((parts) => parts.join('')),
    fc.array(part, { maxLength: 8 }).map((parts) => `/${parts.join('')}`),
    fc.webUrl(),
    fc.string({ unit: 'binary' }),
  )
  let kept = 0
  fc.assert(
    fc.property(text, (target) => {
      const safe = productPathOrRoot(target)
      if (safe === target) kept += 1
      return (
        safe.startsWith('/') &&
        destinations(safe).every((url) => url?.origin === here && !/^\/[\\/]/.test(url.pathname))
      )
    }),
    { numRuns: 5000 },
  )
  t.ok(kept > 300, `${kept} targets were kept`)
})
