import { SegmentedControl, useMantineColorScheme } from '@mantine/core'
import { IconDeviceDesktop, IconMoon, IconSun } from '@tabler/icons-react'
import { type ReactNode, useEffect, useRef } from 'react'
import { languages } from '../text/language.ts'
import { siteName, useLanguage } from './app.tsx'
import classes from './frame.module.css'

export function Brand() {
  return (
    <div className={classes.brand}>
      <svg viewBox="0 0 32 32" width="32" height="32" aria-hidden="true">
        <rect width="32" height="32" rx="8" className={classes.ground} />
        <path className={classes.mark} d="M10 7h12v3H10zM12 11.5h8v7h-8zM9 20h14v2.5H9zM7 24h18v2.5H7z" />
      </svg>
      <span className={classes.name}>{siteName}</span>
    </div>
  )
}

const languageNames = { en: 'EN', 'zh-CN': '中文' } as const
const schemes = { light: IconSun, dark: IconMoon, auto: IconDeviceDesktop } as const

/** Shows the controls for language and colour scheme, which are on every page. */
export function Switches() {
  const { translate, language, choose } = useLanguage()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <div className={classes.switches}>
      <SegmentedControl
        size="xs"
        aria-label={translate('app.language')}
        value={language}
        onChange={choose}
        data={languages.map((value) => ({ value, label: <span lang={value}>{languageNames[value]}</span> }))}
      />
      <SegmentedControl
        size="xs"
        aria-label={translate('app.colours.label')}
        value={colorScheme}
        onChange={setColorScheme}
        data={(['light', 'dark', 'auto'] as const).map((value) => {
          const Icon = schemes[value]
          return {
            value,
            label: (
              <span className={classes.scheme} title={translate(`app.colours.${value}`)}>
                <Icon size={16} stroke={1.75} aria-hidden />
                <span className="visually-hidden">{translate(`app.colours.${value}`)}</span>
              </span>
            ),
          }
        })}
      />
    </div>
  )
}

interface FrameProps {
  readonly title: string
  readonly lead: string
  /** Navigation at the side of the page. */
  readonly navigation: ReactNode
  /** Id of the displayed page. When it changes, the heading takes the focus. */
  readonly place: string
  /** Buttons such as Next and Back. */
  readonly actions?: ReactNode
  readonly children?: ReactNode
}

/** The page that was displayed last. On the first page, the heading does not take the focus. */
let shownPlace: string | undefined

/**
 * Layout of a page: brand and navigation at the side, language and colour controls, one heading, content, and actions
 * at the bottom.
 */
export function Frame({ title, lead, navigation, place, actions, children }: FrameProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const isMove = shownPlace !== undefined && shownPlace !== place
    shownPlace = place
    if (!isMove) return
    window.scrollTo({ top: 0 })
    heading.current?.focus({ preventScroll: true })
  }, [place])
  useEffect(() => {
    document.title = `${title} · ${siteName}`
  }, [title])
  return (
    <div className={classes.frame}>
      <header className={classes.side}>
        <Brand />
        {navigation}
        <Switches />
      </header>
      <main className={classes.main}>
        <div className={classes.content}>
          <h1 className={classes.title} ref={heading} tabIndex={-1}>
            {title}
          </h1>
          <p className={classes.lead}>{lead}</p>
          {children}
        </div>
        {actions !== undefined && (
          <div className={classes.actions}>
            <div className={classes.buttons}>{actions}</div>
          </div>
        )}
      </main>
    </div>
  )
}
