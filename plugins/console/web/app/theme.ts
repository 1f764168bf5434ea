import { type CSSVariablesResolver, createTheme, DEFAULT_THEME } from '@mantine/core'

const { colors } = DEFAULT_THEME

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 8, dark: 8 },
  autoContrast: true,
  cursorType: 'pointer',
  respectReducedMotion: true,
  defaultRadius: 'md',
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", "Noto Sans SC", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, "Cascadia Mono", Menlo, Consolas, "Noto Sans Mono", monospace',
})

/** Text colours of the library that are too faint to be read by everybody, replaced in both schemes. */
export const cssVariablesResolver: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': colors.gray[7],
    '--mantine-color-error': '#c92a2a',
    '--mantine-color-placeholder': colors.gray[7],
  },
  dark: {
    '--mantine-color-dimmed': colors.dark[0],
    '--mantine-color-error': '#ff8787',
    '--mantine-color-placeholder': colors.dark[1],
  },
})
