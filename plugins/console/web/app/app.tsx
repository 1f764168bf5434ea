import {
  type CSSVariablesResolver,
  createTheme,
  DEFAULT_THEME,
  type MantineColorSchemeManager,
  MantineProvider,
} from '@mantine/core'
import { createContext, type ReactNode, useContext, useEffect, useSyncExternalStore } from 'react'
import type { Language, LanguageChoice } from '../text/language.ts'
import { createTranslate, type Translate } from '../text/texts.ts'
import { SteadyButton } from './steady-button.tsx'

const { gray } = DEFAULT_THEME.colors
/** Dark shades: bluish greys that match the rest of the page. */
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

/** Id of the element in the main part of the page that contains the open menus. */
export const menusId = 'menus'

const theme = createTheme({
  colors: { dark: [...dark] },
  primaryColor: 'indigo',
  primaryShade: { light: 8, dark: 8 },
  autoContrast: true,
  cursorType: 'pointer',
  respectReducedMotion: true,
  defaultRadius: 'md',
  components: {
    ActionIcon: { defaultProps: { component: SteadyButton } },
    Button: { defaultProps: { component: SteadyButton } },
    Menu: {
      defaultProps: {
        // With this setting the first menu item takes the focus. The placeholder of the library is not a valid child of
        // a menu.
        withInitialFocusPlaceholder: false,
        // At the end of the document, a menu would be outside of all landmarks.
        portalProps: { target: `#${menusId}` },
      },
    },
  },
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", "Noto Sans SC", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, "Cascadia Mono", Menlo, Consolas, "Noto Sans Mono", monospace',
})

/** Replaces text colours of the library that have too little contrast, in both colour schemes. */
const cssVariablesResolver: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': gray[7],
    '--mantine-color-error': '#c92a2a',
    '--mantine-color-placeholder': gray[7],
    '--mantine-color-red-outline': '#c92a2a',
    '--mantine-color-red-text': '#c92a2a',
    '--mantine-color-red-filled': '#c92a2a',
    '--mantine-color-red-6': '#c92a2a',
  },
  dark: {
    '--mantine-color-text': '#eceef4',
    '--mantine-color-dimmed': dark[0],
    '--mantine-color-error': '#ff8787',
    '--mantine-color-placeholder': dark[1],
    '--mantine-color-red-outline': '#ff8787',
    '--mantine-color-red-text': '#ff8787',
    '--mantine-color-red-filled': '#c92a2a',
    '--mantine-color-red-6': '#ff8787',
  },
})

interface Speech {
  readonly language: Language
  readonly translate: Translate
  choose(language: Language): void
}

const SpeechContext = createContext<Speech | undefined>(undefined)

/** Returns the language of the page and the function that translates texts. */
export function useLanguage(): Speech {
  const speech = useContext(SpeechContext)
  if (speech === undefined) throw new Error('useSpeech needs an App around it')
  return speech
}

/** Keeps the colour scheme in the memory of the page, so that nothing is stored in the browser. */
const inMemory: MantineColorSchemeManager = {
  get: (preset) => preset,
  set: () => {},
  subscribe: () => {},
  unsubscribe: () => {},
  clear: () => {},
}

/** Nonce for style elements. Browsers hide a nonce from style sheets, but not from scripts. */
export const styleNonce = () => document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''

/** Name of the site that the server has written into the page, or the name of the platform if the site has no name. */
export const siteName: string =
  document.querySelector<HTMLMetaElement>('meta[name="application-name"]')?.content || 'Plinth'

interface AppProps {
  readonly languages: LanguageChoice
  /** Store of the colour scheme. If omitted, the scheme is kept in the memory of the page. */
  readonly colours?: MantineColorSchemeManager
  readonly children: ReactNode
}

export function App({ languages, colours = inMemory, children }: AppProps) {
  const language = useSyncExternalStore(languages.subscribe, languages.current)
  useEffect(() => {
    document.documentElement.lang = language
  }, [language])
  const speech = { language, translate: createTranslate(language), choose: (next: Language) => languages.choose(next) }
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariablesResolver}
      defaultColorScheme="auto"
      colorSchemeManager={colours}
      getStyleNonce={styleNonce}
      // The script sets all variables. As a style sheet, they would be a third of the size of the loaded page.
      deduplicateCssVariables={false}
    >
      <SpeechContext value={speech}>{children}</SpeechContext>
    </MantineProvider>
  )
}
