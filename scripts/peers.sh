# Sourced after common.sh by comparisons with Python's libraries: peers [--upgrade] installs NumPy,
# numexpr, OpenCV and PyTorch into build/peers-env, some 3 GB to download the first time.
peers_env=$build/peers-env

peers() {
  [[ -x $peers_env/bin/python ]] || python3 -m venv "$peers_env"
  if [[ ${1:-} != --upgrade ]] && "$peers_env/bin/python" -c 'import numpy, numexpr, cv2, torch' 2>/dev/null; then
    return
  fi
  say "Installing NumPy, numexpr, OpenCV and PyTorch into build/peers-env: 3 GB to download, 7 GB on disk."
  "$peers_env/bin/python" -m pip install --progress-bar off --upgrade numpy numexpr opencv-python-headless torch \
    >"$build/peers-env.log" 2>&1 </dev/null || fail "$build/peers-env.log" "They could not be installed."
}
