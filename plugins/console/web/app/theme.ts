import { type CSSVariablesResolver, createTheme, DEFAULT_THEME } from '@mantine/core'

const { gray } = DEFAULT_THEME.colors
/** Greys with a little blue, as the rest of the page has them. */
const dark = [
  '#d3d7e2',
  '#b4bac9',
  '#8d95a8',
  '#5f6779',
  '#434a5a',
  '#343946',
  '#272b36',
  '#1f222b',
  '#191c23',
  '#14161c',
] as const

export const theme = createTheme({
  colors: { dark: [...dark] },
  primaryColor: 'indigo',
  primaryShade: { light: 8, dark: 8 },
  autoContrast: true,
  cursorType: 'pointer',
  respectReducedMotion: true,
  defaultRadius: 'md',
  // The first item takes the focus; a place that is none is no child of a menu.
  components: { Menu: { defaultProps: { withInitialFocusPlaceholder: false } } },
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", "Noto Sans SC", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, "Cascadia Mono", Menlo, Consolas, "Noto Sans Mono", monospace',
})

/** Text colours of the library that are too faint to be read by everybody, replaced in both schemes. */
export const cssVariablesResolver: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': gray[7],
    '--mantine-color-error': '#c92a2a',
    '--mantine-color-placeholder': gray[7],
    '--mantine-color-red-outline': '#c92a2a',
    '--mantine-color-red-text': '#c92a2a',
    '--mantine-color-red-filled': '#c92a2a',
  },
  dark: {
    '--mantine-color-text': '#eceef4',
    '--mantine-color-dimmed': dark[0],
    '--mantine-color-error': '#ff8787',
    '--mantine-color-placeholder': dark[1],
    '--mantine-color-red-outline': '#ff8787',
    '--mantine-color-red-text': '#ff8787',
    '--mantine-color-red-filled': '#c92a2a',
  },
})
