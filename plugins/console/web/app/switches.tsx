import { SegmentedControl, useMantineColorScheme } from '@mantine/core'
import { IconDeviceDesktop, IconMoon, IconSun } from '@tabler/icons-react'
import { languages } from '../text/language.ts'
import { useSpeech } from './app.tsx'
import classes from './switches.module.css'

const languageNames = { en: 'EN', 'zh-CN': '中文' } as const
const schemes = { light: IconSun, dark: IconMoon, auto: IconDeviceDesktop } as const

/** Language and colours, on every page. */
export function Switches() {
  const { say, language, choose } = useSpeech()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <div className={classes.switches}>
      <SegmentedControl
        size="xs"
        aria-label={say('app.language')}
        value={language}
        onChange={choose}
        data={languages.map((value) => ({ value, label: <span lang={value}>{languageNames[value]}</span> }))}
      />
      <SegmentedControl
        size="xs"
        aria-label={say('app.colours.label')}
        value={colorScheme}
        onChange={setColorScheme}
        data={(['light', 'dark', 'auto'] as const).map((value) => {
          const Icon = schemes[value]
          return {
            value,
            label: (
              <span className={classes.scheme} title={say(`app.colours.${value}`)}>
                <Icon size={16} stroke={1.75} aria-hidden />
                <span className="visually-hidden">{say(`app.colours.${value}`)}</span>
              </span>
            ),
          }
        })}
      />
    </div>
  )
}
