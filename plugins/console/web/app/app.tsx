import { type MantineColorSchemeManager, MantineProvider } from '@mantine/core'
import { createContext, type ReactNode, useContext, useEffect, useSyncExternalStore } from 'react'
import type { Language } from '../text/language.ts'
import type { LanguageChoice } from '../text/language-choice.ts'
import { type Say, sayIn } from '../text/texts.ts'
import { cssVariablesResolver, theme } from './theme.ts'

interface Speech {
  readonly language: Language
  readonly say: Say
  choose(language: Language): void
}

const SpeechContext = createContext<Speech | undefined>(undefined)

/** The language of the page, and its texts in it. */
export function useSpeech(): Speech {
  const speech = useContext(SpeechContext)
  if (speech === undefined) throw new Error('useSpeech needs an App around it')
  return speech
}

/** Colours that live in the memory of the page, which leaves nothing in the browser. */
const inMemory: MantineColorSchemeManager = {
  get: (preset) => preset,
  set: () => {},
  subscribe: () => {},
  unsubscribe: () => {},
  clear: () => {},
}

/** Browsers hide the nonce from style sheets, not from scripts. */
export const styleNonce = () => document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''

interface AppProps {
  readonly languages: LanguageChoice
  /** Where the choice of colours is kept; absent: in the memory of the page. */
  readonly colours?: MantineColorSchemeManager
  readonly children: ReactNode
}

export function App({ languages, colours = inMemory, children }: AppProps) {
  const language = useSyncExternalStore(languages.subscribe, languages.current)
  useEffect(() => {
    document.documentElement.lang = language
  }, [language])
  const speech = { language, say: sayIn(language), choose: (next: Language) => languages.choose(next) }
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariablesResolver}
      defaultColorScheme="auto"
      colorSchemeManager={colours}
      getStyleNonce={styleNonce}
      // All of them at run time: as a style sheet they would be a third of what the page loads.
      deduplicateCssVariables={false}
    >
      <SpeechContext value={speech}>{children}</SpeechContext>
    </MantineProvider>
  )
}
